// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogReport

@testable import WatchdogSymbolication

@Suite("Names for a stored report")
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

    @Test("Function, file and line come from the file that is handed over, and nothing where there is nothing")
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

    @Test("What is no request: exit code 65 and one line")
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

    @Test("Whatever stands in the file: an answer that fits the request, never a crash or a hang")
    func hostileFiles() throws {
        let (request, file) = try material()
        let json = Array(try JSONEncoder().encode(request))
        var generator = SystemRandomNumberGenerator()
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
            #expect(helper.duration < .seconds(30))
            let answer = try JSONDecoder().decode(NamingAnswer.self, from: Data(helper.output))
            #expect(answer.fault(as: request) == nil)
        }
    }

    @Test("A build-id that is none is not asked for: exit code 64", arguments: ["", "a", "xyz", "../../etc/passwd"])
    func fetch(identifier: String) throws {
        let helper = try Helper(["--fetch", identifier], descriptors: [])
        #expect(helper.exitCode == 64)
        #expect(helper.output.isEmpty)
    }
}
