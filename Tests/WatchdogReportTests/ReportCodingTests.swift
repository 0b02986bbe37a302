// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReportFixtures
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Files")
struct ReportCodingTests {
    @Test("A written report is read back, and is the same every time")
    func roundTrip() throws {
        for (_, report) in Samples.goldens {
            let bytes = try ReportCoding.encode(report)
            #expect(try ReportCoding.decode(bytes) == report)
            #expect(try ReportCoding.encode(report) == bytes)
        }
    }

    @Test("The quick reader of first lines reads what JSONDecoder reads, and leaves it what is unusual")
    func quickMetadata() throws {
        func quick(_ line: String) -> ReportMetadata? { MetadataReader.metadata(Array(line.utf8).span) }
        for (name, sample) in Samples.goldens {
            var report = sample
            report.summarize(Explanation(of: report))
            report.countRepeat(at: WallTime(seconds: 0))
            let line = try ReportCoding.encode(report).prefix { $0 != UInt8(ascii: "\n") }
            #expect(MetadataReader.metadata(Array(line).span) == report.metadata, "\(name)")
        }
        let whole = #""app_name":"a\u00e4","timestamp":"t","incident_id":"i","bug_type":"309""#
        #expect(quick("{\(whole), \"other\": [1, {}]}")?.appName == "aä")
        #expect(quick("{ \(whole),\"linux\":{\"pid\": 4,\"event\":\"e\",\"verdict\":\"v\"}}")?.linux?.pid == 4)
        for line in [
            "", "[]", "{}", "{\(whole)", "{\(whole)}}", "{\(whole),}", "{\(whole),\"platform\":1.5}",
            "{\(whole),\"platform\":null}", "{\(whole),\"platform\":\"1\"}", "{\(whole),\"name\":3}",
            "{\(whole),\"name\":\"\(String(repeating: "n", count: 600))\"}", "{\(whole),\"linux\":{}}",
            #"{\#(whole),"na\u006de":"n"}"#,
        ] {
            #expect(quick(line) == nil, "\(line)")
        }
    }

    @Test("The documented way to read a report works: the first line is JSON, and so is the rest")
    func documentedProcedure() throws {
        let text = String(decoding: try ReportCoding.encode(Samples.report()), as: UTF8.self)
        let end = try #require(text.firstIndex(of: "\n"))
        struct Line: Decodable { let bug_type: String }
        struct Rest: Decodable { let threads: [[String: Ignored]] }
        struct Ignored: Decodable { init(from decoder: any Decoder) {} }
        #expect(try JSONDecoder().decode(Line.self, from: Data(text[..<end].utf8)).bug_type == "309")
        #expect(try JSONDecoder().decode(Rest.self, from: Data(text[end...].utf8)).threads.count == 2)
    }

    @Test("Every number is an integer, because some readers support no others")
    func integersOnly() throws {
        for (name, report) in Samples.goldens {
            let bytes = try ReportCoding.encode(report)
            let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
            #expect(lines.map { JSONFault.first(in: Array($0)) } == [nil, nil], "\(name)")
        }
        #expect(JSONFault.first(in: Array("[1, 2.5]".utf8))?.what == "number is not an integer")
    }

    @Test("Every key that foreign readers require is present")
    func demandedKeys() throws {
        let bytes = try ReportCoding.encode(Samples.report())
        let text = String(decoding: bytes, as: UTF8.self)
        let end = try #require(text.firstIndex(of: "\n"))
        let line = try JSONDecoder().decode(Keys.self, from: Data(text[..<end].utf8))
        let body = try JSONDecoder().decode(Keys.self, from: Data(text[end...].utf8))
        #expect(
            line.isSuperset(of: [
                "app_name", "app_version", "build_version", "bug_type", "bundleID", "incident_id", "is_first_party",
                "name", "os_version", "roots_installed", "share_with_app_devs", "slice_uuid", "timestamp",
            ]))
        #expect(
            body.isSuperset(of: [
                "asi", "bug_type", "captureTime", "coalitionName", "cpuType", "crashReporterKey", "exception",
                "faultingThread", "incident", "legacyInfo", "linux", "modelCode", "osVersion", "parentPid",
                "parentProc",
                "pid", "procExitAbsTime", "procLaunch", "procName", "procPath", "procRole", "procStartAbsTime",
                "roots_installed", "termination", "threads", "uptime", "usedImages", "userID", "version",
            ]))
    }

    private struct Keys: Decodable {
        let names: Set<String>

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            names = Set(try decoder.container(keyedBy: Key.self).allKeys.map(\.stringValue))
        }

        func isSuperset(of other: Set<String>) -> Bool { other.isSubset(of: names) }
    }

    @Test("A file in Apple's form is read, and unknown keys are ignored")
    func foreignFile() throws {
        let report = try ReportCoding.decode(Array(ForeignSample.ips.utf8))
        #expect(report.metadata.platform == 2)
        #expect(report.metadata.linux == nil)
        #expect(report.body.linux == nil)
        #expect(report.body.threads[0].threadState?.x.count == 29)
        #expect(report.body.threads[0].threadState?.registers["esr"]?.description == "(Breakpoint) brk 1")
        #expect(report.body.threads[1].frames.isEmpty)
        #expect(report.body.usedImages[1] == .absent)
        #expect(try ReportCoding.decode(ReportCoding.encode(report)) == report)
    }

    // MARK: Damage

    private func failure(_ text: String) -> ReportCodingError? {
        do {
            _ = try ReportCoding.decode(Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test("Damage is reported with its line")
    func damage() throws {
        let text = String(decoding: try ReportCoding.encode(Samples.report()), as: UTF8.self)
        #expect(failure("")?.code == .empty)
        #expect(failure("\n{}")?.code == .empty)
        #expect(failure("hello\n{}") == ReportCodingError(.malformed, line: 1, "expected a value"))
        #expect(failure("{}\n{}") == ReportCodingError(.unexpected, line: 1, "app_name is missing"))

        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let place = try #require(lines.firstIndex { $0.contains("\"captureTime\"") })
        lines[place] = lines[place].replacing("\" :", with: "\"")
        #expect(
            failure(lines.joined(separator: "\n"))?.description == "line \(place + 1): expected a colon")

        let half = String(text.prefix(text.count / 2))
        #expect(failure(half)?.code == .malformed)
        #expect(failure(half)?.what.hasPrefix("the file ends too early") == true)
    }

    @Test("A key with a value of another type is named with its path")
    func wrongKind() throws {
        let text = String(decoding: try ReportCoding.encode(Samples.report()), as: UTF8.self)
        let error = failure(text.replacing("\"imageIndex\" : 1", with: "\"imageIndex\" : \"x\"", maxReplacements: 1))
        #expect(error?.code == .unexpected)
        #expect(error?.description.contains("imageIndex: Expected to decode Int") == true)
        #expect(failure(text.replacing("\"pid\" : 4242", with: "\"pid\" : 4242.5"))?.what == "number is not an integer")
    }

    @Test("Another kind of report is rejected by its number, and a text body too")
    func otherKinds() throws {
        let line = #"{"app_name":"a","timestamp":"t","incident_id":"i","bug_type":"109"}"#
        #expect(
            failure(line + "\nIncident Identifier: x")
                == ReportCodingError(.notACrashReport, line: 1, "bug_type is 109, not 309"))
    }

    @Test("A file beyond the limit is rejected before anything is read")
    func tooLarge() {
        #expect(throws: ReportCodingError.tooLarge((64 << 20) + 1)) {
            try ReportCoding.decode([UInt8](repeating: 0x20, count: (64 << 20) + 1))
        }
    }

    @Test(
        "Every violation of JSON is found, and valid JSON has none",
        arguments: [
            ("[1, 2", "the file ends too early: expected a comma or the array's end", 1),
            ("[1\n2]", "expected a comma or the array's end", 2),
            ("{\"a\" 1}", "expected a colon", 1),
            ("{\"a\":1,\n\n}", "expected a key", 3),
            ("{a:1}", "expected a key", 1),
            ("[01]", "number begins with 0", 1),
            ("[-]", "expected a digit", 1),
            ("[1e3]", "number is not an integer", 1),
            ("[tru]", "expected true", 1),
            ("\"a\nb\"", "control character in a string", 1),
            ("\"a", "the file ends too early: string without an end", 1),
            ("\"a\\", "the file ends too early: string without an end", 1),
            ("1 1", "text after the end", 1),
            ("", "the file ends too early: expected a value", 1),
            (String(repeating: "[", count: 100_000), "nested too deeply", 1),
            ("{\"a\":[true,false,null,-12,0,\"\\\"\\u00e4\",{},[]]}\n", nil, 1),
        ] as [(String, String?, Int)]
    )
    func faults(text: String, what: String?, line: Int) {
        let fault = JSONFault.first(in: Array(text.utf8))
        #expect(fault?.what == what)
        #expect(fault == nil || fault?.line == line)
    }

    @Test("A string that is not UTF-8 is a fault")
    func notUTF8() {
        #expect(JSONFault.first(in: [0x22, 0xff, 0x22])?.what == "string is not UTF-8")
    }

    @Test("No damaged file makes the reader or the renderer fail except with an error")
    func fuzz() throws {
        let original = try ReportCoding.encode(Samples.report())
        var generator = SeededGenerator(seed: 42)
        var read = 0
        for _ in 0..<600 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch UInt8.random(in: 0...2, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0 ... .max, using: &generator)
                case 1: bytes[place] = UInt8(ascii: "9")
                default: bytes.removeSubrange(place..<min(place + 20, bytes.count))
                }
            }
            guard let report = try? ReportCoding.decode(bytes) else { continue }
            read += 1
            #expect(TextRenderer.render(report).hasSuffix("\nEOF\n"))
        }
        #expect(read > 20, "too few damaged files could be read to prove anything")
    }
}
