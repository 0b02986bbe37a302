// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Damaged files")
struct SalvageTests {
    private let whole = Samples.goldens[2].report

    @Test("A good file has no faults")
    func good() throws {
        let (report, faults) = try ReportCoding.salvage(try ReportCoding.encode(whole))
        #expect(report == whole)
        #expect(faults == [])
    }

    @Test("Truncated anywhere after the first line, a file never crashes the reader, which shows the rest")
    func truncation() throws {
        let bytes = try ReportCoding.encode(whole)
        let first = bytes.prefix { $0 != UInt8(ascii: "\n") }.count + 1
        var shown = 0
        for length in stride(from: first + 200, to: bytes.count - 3, by: 61) {
            let (report, faults) = try ReportCoding.salvage(Array(bytes.prefix(length)))
            #expect(report.metadata == whole.metadata)
            #expect(!faults.isEmpty)
            _ = TextRenderer.render(report)
            if report.body.linux?.verdict == whole.body.linux?.verdict { shown += 1 }
        }
        #expect(shown > 20, "the verdict survives where it had been written")
    }

    @Test("A part of the wrong type is omitted and named; the others keep their places")
    func wrongKinds() throws {
        let text = String(decoding: try ReportCoding.encode(whole), as: UTF8.self)
            .replacing(#""name" : "hang-main","#, with: #""name" : 7,"#, maxReplacements: 1)
            .replacing(#""pid" : 4242,"#, with: #""pid" : "x","#)
        let (report, faults) = try ReportCoding.salvage(Array(text.utf8))
        #expect(faults.contains { $0.hasPrefix("pid: ") })
        #expect(report.body.pid == 4242, "the first line still has it")
        #expect(report.body.usedImages.count == whole.body.usedImages.count)
    }

    @Test("A report from before optional parts existed is read completely")
    func older() throws {
        var older = whole
        let linux = try #require(whole.body.linux)
        older.body.linux?.stages = nil
        older.body.linux?.samples = nil
        older.body.linux?.pings = nil
        older.body.linux?.lifecycle = nil
        older.body.linux?.log = nil
        let (report, faults) = try ReportCoding.salvage(try ReportCoding.encode(older))
        #expect(faults.isEmpty)
        #expect(report.body.linux?.verdict == linux.verdict)
        #expect(report.body.linux?.schema == 1)
    }

    @Test("The known parts of a newer report are shown, and the rest is named with the reason")
    func newer() throws {
        let text = String(decoding: try ReportCoding.encode(whole), as: UTF8.self)
            .replacing(#""schema" : 1"#, with: #""schema" : 2, "addition" : {"a" : []}"#)
        let (same, none) = try ReportCoding.salvage(Array(text.utf8))
        #expect(none.isEmpty && same.body.linux?.verdict == whole.body.linux?.verdict)
        let kind = try #require(whole.body.linux?.verdict.kind.rawValue)
        let unknown = text.replacing(#""kind" : "\#(kind)""#, with: #""kind" : "entangled""#)
        let (report, faults) = try ReportCoding.salvage(Array(unknown.utf8))
        #expect(faults.first == "it was written by a newer watchdogd (schema 2, known 1)")
        #expect(faults.contains { $0.hasPrefix("linux.verdict.kind: ") })
        #expect(report.body.usedImages == whole.body.usedImages)
    }

    @Test("However many threads are damaged, the rest is shown")
    func manyFaults() throws {
        var report = whole
        report.body.threads = Array(repeating: report.body.threads[1], count: 300)
        let text = String(decoding: try ReportCoding.encode(report), as: UTF8.self)
            .replacing(#""id" : 4243,"#, with: #""id" : "x","#)
        let (read, faults) = try ReportCoding.salvage(Array(text.utf8))
        #expect(faults.count <= 64)
        #expect(read.body.linux?.verdict == whole.body.linux?.verdict || read.body.linux == nil)
        #expect(read.metadata == whole.metadata)
        #expect(read.body.usedImages == whole.body.usedImages)
    }

    @Test(
        "A file without a complete first line, or of another kind, shows nothing",
        arguments: ["", "no JSON\n{}", "{\"app_name\":\"x\"", "\n\n", "{}\n{}"])
    func nothing(text: String) {
        #expect(throws: ReportCodingError.self) { try ReportCoding.salvage(Array(text.utf8)) }
    }

    @Test("A report truncated after a backslash is read up to that point")
    func cutBehindBackslash() throws {
        let text = String(decoding: try ReportCoding.encode(Samples.report()), as: UTF8.self)
        let name = try #require(text.firstRange(of: #""procName" : ""#))
        let cut = text[..<name.upperBound] + "a\\"
        let (report, faults) = try ReportCoding.salvage(Array(cut.utf8))
        #expect(report.metadata.appName == "HangMain")
        #expect(faults.count == 1)
        #expect(faults.first?.contains("the file ends too early: string without an end; what follows is lost") == true)
    }
}
