// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import WatchdogBase

@Suite("Addresses")
struct AddressTests {
    private func bytes(_ text: String, _ family: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }

    @Test("IP addresses are what inet_pton(3) takes for them")
    func comparedWithTheLibrary() {
        var generator = SeededGenerator(seed: 0x1f)
        let pieces = [
            ":", "::", "0", "1", "ff", "fe80", "12345", ".", "127", "256", "01", "g", "ABCD", "1.2.3.4", "", "%", " ",
            "-1",
        ]
        var valid = (v4: 0, v6: 0)
        for _ in 0..<60_000 {
            let text = (0..<(1 + generator.below(10))).map { _ in generator.pick(pieces) }.joined()
            let v4 = NetworkAddress.v4(text[...])
            let v6 = NetworkAddress.v6(text[...])
            if v4 != bytes(text, AF_INET, 4) { Issue.record("\(text)") }
            if v6 != bytes(text, AF_INET6, 16) { Issue.record("\(text)") }
            valid.v4 += v4 == nil ? 0 : 1
            valid.v6 += v6 == nil ? 0 : 1
        }
        #expect(valid.v4 > 100 && valid.v6 > 300, "\(valid)")
    }

    @Test("Eight groups with a gap or without are read")
    func groups() {
        var generator = SeededGenerator(seed: 0x2f)
        for _ in 0..<5_000 {
            var groups = (0..<(6 + generator.below(4))).map { _ in generator.pick(["0", "1", "ff", "0db8", "1234"]) }
            if generator.below(2) == 0 { groups.insert("", at: generator.below(groups.count + 1)) }
            let text = groups.joined(separator: ":")
            if NetworkAddress.v6(text[...]) != bytes(text, AF_INET6, 16) { Issue.record("\(text)") }
        }
    }

    @Test("An IPv6 address is written so that it is read back")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 0x3f)
        for _ in 0..<5_000 {
            let bytes = (0..<8).flatMap { _ in
                generator.pick([[0, 0], [0, 1], [0xfe, 0x80], [0x20, 0x01]] as [[UInt8]])
            }
            let address = NetworkAddress.tcp(.v6(bytes), port: 80)
            #expect(try NetworkAddress(parsing: address.description) == address)
        }
    }

    @Test(
        "All forms are written as they are read",
        arguments: [
            "*:80", "localhost:8080", "127.0.0.1:1", "[::1]:65535", "[2001:db8::1]:80", "/run/x.sock", "@name",
            "[1:0:0:2::3]:80",
        ])
    func forms(text: String) throws {
        #expect(try NetworkAddress(parsing: text).description == text)
    }

    @Test("A Unix socket's name has at most 107 bytes")
    func longNames() throws {
        let path = "/" + String(repeating: "x", count: 106)
        #expect(try NetworkAddress(parsingUnix: path) == .unix(path: path))
        #expect(throws: NetworkAddress.SyntaxError.self) { try NetworkAddress(parsingUnix: path + "x") }
        #expect(throws: NetworkAddress.SyntaxError.self) { try NetworkAddress(parsingUnix: "@") }
    }

    @Test("Port 0 is refused unless the kernel may choose")
    func anyPort() throws {
        #expect(try NetworkAddress(parsing: "0.0.0.0:0", ports: 0...65_535).description == "0.0.0.0:0")
        #expect(throws: NetworkAddress.SyntaxError.self) { try NetworkAddress(parsing: "0.0.0.0:0") }
    }

    @Test(
        "Addresses are read in all their forms and written back",
        arguments: [
            ("8080", "*:8080"), ("*:80", "*:80"), (":80", "*:80"), ("127.0.0.1:65535", "127.0.0.1:65535"),
            ("localhost:1", "localhost:1"), ("[::1]:443", "[::1]:443"), ("[0:0::2]:443", "[::2]:443"),
            ("/run/a b.sock", "/run/a b.sock"), ("@name", "@name"),
        ]
    )
    func otherForms(text: String, written: String) throws {
        #expect(try NetworkAddress(parsing: text).description == written)
    }

    @Test(
        "An invalid address is refused with the reason",
        arguments: [
            ("", "the port is missing"), ("0", #"the port must be 1 … 65535, not "0""#),
            ("65536", #"the port must be 1 … 65535, not "65536""#),
            ("localhost:", "the port is missing"), ("-1", #"the port must be 1 … 65535, not "-1""#),
            ("web:80", #""web" is not an IP address; names are not looked up, except localhost"#),
            ("1.2.3:80", #""1.2.3" is not an IP address; names are not looked up, except localhost"#),
            ("::1:80", "an IPv6 address goes in brackets: [::1:80]:PORT"),
            ("[::1:80", #""]" is missing after the IPv6 address"#), ("[::1]", #"":PORT" is missing after "]""#),
            ("[::g]:80", #""[::g]" is not an IP address; names are not looked up, except localhost"#),
            ("@", "the Unix socket has no name"), ("/a\0b", "a Unix socket's name cannot contain NUL"),
        ]
    )
    func errors(text: String, reason: String) throws {
        let error = try #require(throws: NetworkAddress.SyntaxError.self) { try NetworkAddress(parsing: text) }
        #expect(error.reason == reason)
        #expect(error.description == "'\(text)' is not an address: \(reason)")
    }
}
