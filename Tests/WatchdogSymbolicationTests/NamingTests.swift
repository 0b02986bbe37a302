// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogReport

@testable import WatchdogSymbolication

@Suite("Names for a stored report", .reapsChildren)
struct NamingTests {
    /// A request for two places in the program `chain`, and its bytes.
    private func material() throws -> (request: NamingRequest, file: [UInt8]) {
        let path = try Subject.chainWithLines.executable()
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let symbols = try output(of: ["nm", path]).split(separator: "\n")
        let address = try #require(
            symbols.first { $0.hasSuffix(" main") }.flatMap { UInt64($0.prefix { $0.isHexDigit }, radix: 16) })
        let image = NamingRequest.Image(base: 0x5555_0000_0000, size: 1 << 24, path: path)
        return (
            NamingRequest(
                images: [image],
                addresses: [
                    .init(image: 0, offset: address + 5, lookup: address + 4, isInnermost: false),
                    .init(image: 0, offset: 0xff_ffff, lookup: 0xff_ffff, isInnermost: true),
                ]), try bytes(behind: file)
        )
    }

    private func ask(_ request: [UInt8], _ files: [[UInt8]]) throws -> Helper {
        try withScratch([request] + files) { try Helper(["--names", "--budget", "10s"], descriptors: $0) }
    }

    @Test("Function, file and line come from the passed file, and nothing from an empty one")
    func names() throws {
        let (request, file) = try material()
        let helper = try ask(Array(try JSONEncoder().encode(request)), [file])
        #expect(helper.exitCode == 0, "\(helper.errors)")
        let answer = try JSONDecoder().decode(NamingAnswer.self, from: Data(helper.output))
        #expect(answer.fault(as: request) == nil)
        #expect(answer.calls[0].last?.symbol == "main")
        #expect(answer.calls[0].last?.symbolLocation == 5)
        #expect(answer.calls[0].first?.sourceFile?.hasSuffix("/chain.c") == true)
        #expect(answer.calls[1].map(\.symbol) == [nil])
    }

    @Test("An invalid request exits with 65 and one line")
    func noRequest() throws {
        let overlapping = NamingRequest(
            images: Array(repeating: .init(base: 1, size: 9, path: ""), count: 2), addresses: [])
        for bytes in [[], Array("{}".utf8), Array("[1".utf8), Array(try JSONEncoder().encode(overlapping))] {
            let helper = try ask(bytes, [])
            #expect(helper.exitCode == 65)
            #expect(helper.output.isEmpty)
            #expect(helper.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("Any content of the file yields an answer that matches the request, never a crash or a hang")
    func hostileFiles() throws {
        let (request, file) = try material()
        let json = Array(try JSONEncoder().encode(request))
        var generator = SeededGenerator(seed: 6)
        for round in 0..<24 {
            var file = file
            switch round % 4 {
            case 0: file.removeLast(Int.random(in: 1..<file.count, using: &generator))
            case 1: file = Array("no ELF file".utf8)
            default:
                for _ in 0..<40 {
                    let place = Int.random(in: round % 4 == 2 ? 0..<4_096 : file.indices, using: &generator)
                    file[place] = .random(in: 0 ... .max, using: &generator)
                }
            }
            let helper = try ask(json, [file])
            #expect(helper.exitCode == 0, "\(helper.errors)")
            let answer = try JSONDecoder().decode(NamingAnswer.self, from: Data(helper.output))
            #expect(answer.fault(as: request) == nil)
        }
    }

    @Test("An invalid build-id is not requested, with exit code 64", arguments: ["", "a", "xyz", "../../etc/passwd"])
    func fetch(identifier: String) throws {
        let helper = try Helper(["--fetch", identifier], descriptors: [])
        #expect(helper.exitCode == 64)
        #expect(helper.output.isEmpty)
    }

    /// Other processes of the user nobody must not read the passwords in the addresses of servers and proxies.
    @Test(
        "During a request to a server, no other process of the user sees the environment",
        .enabled(if: geteuid() != 0 || isInstalled("setpriv"), "root needs setpriv(1) to be nobody"))
    func environment() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        try #require(isBound)
        var template = Array("/tmp/watchdog-fetch-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { _ = try? output(of: ["rm", "-r", folder]) }
        chmod(folder, 0o777)
        let user = geteuid() == 0 ? 65_534 : geteuid()
        let process = try Process(
            (geteuid() == 0 ? ["setpriv", "--reuid", "\(user)", "--regid", "\(user)", "--clear-groups"] : []) + [
                "env", "HOME=\(folder)", "DEBUGINFOD_CACHE_PATH=\(folder)/cache", "DEBUGINFOD_TIMEOUT=60",
                "DEBUGINFOD_URLS=http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))",
                "\(try Subject.buildDirectory())/watchdogd-symbolicate", "--fetch", "0123456789abcdef",
            ])
        // It queries the server, or exits because the library for that is missing.
        let pidfd = Int32(try #require(systemCall(434, [Int(process.id), 0])))
        defer { close(pidfd) }
        var entries = [listener, pidfd].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        try #require(poll(&entries, 2, patienceInMilliseconds) > 0)
        guard entries[0].revents != 0 else { return print("skipped: libdebuginfod.so.1 is not installed") }
        var status = stat()
        try #require(stat("/proc/\(process.id)/environ", &status) == 0)
        // proc(5): the files of a process that may not be traced belong to root.
        #expect(status.st_uid == 0)
        try #require(stat("/proc/\(process.id)", &status) == 0)
        #expect(status.st_uid == user, "it does run as that user")
    }
}
