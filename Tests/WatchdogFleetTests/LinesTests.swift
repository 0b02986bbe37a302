// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import TestSupport
import Testing
import WatchdogBase
import WatchdogRendering

@testable import WatchdogFleet
@testable import WatchdogReport

@Suite("Incident lines")
struct LinesTests {
    private struct Result: Equatable {
        var incidents: [OrganizerIncident] = []
        var faults = 0
        var first: String?
    }

    private static func read(_ text: [UInt8], pieces: Int = .max) -> Result {
        var lines = IncidentLines()
        var result = Result()
        var start = 0
        while start < text.count {
            let end = min(text.count, start.addingSaturated(pieces))
            lines.read(text.span.extracting(start..<end)) {
                result.incidents.append($0)
                return $0.time < now.seconds
            }
            start = end
        }
        lines.finish {
            result.incidents.append($0)
            return true
        }
        (result.faults, result.first) = (lines.faults, lines.firstFault)
        return result
    }

    private static let line = """
        {"app":"a","code":"0x8badf00d","event":"hang","frames":["f()","g()","h()","i()"],"host":"web","incident":"I",\
        "nested":{"a":[1,{"b":"}"}],"c":null},"pid":4,"repeats":2,"role":"background","signature":"s","time":\
        "2026-11-23T09:14:22.12Z","verdict":"blocked","version":null}
        """

    @Test("Every report's line is parsed")
    func exported() throws {
        for cause in Causes.all {
            let line = IncidentLine(of: cause.report, host: "alpha")
            let result = Self.read(Array(line.text.utf8))
            let incident = try #require(result.incidents.first, "\(cause.name)")
            #expect(result.faults == 0)
            #expect(incident.app == line.app && incident.signature == line.signature && incident.host == "alpha")
            #expect(incident.cause == line.cause && incident.event == line.event && incident.frames == line.frames)
            #expect(incident.incident == line.incident && incident.version == line.version ?? "")
        }
    }

    @Test("Members are read in any position; unknown ones and null are skipped")
    func members() throws {
        let incident = try #require(Self.read(Array(Self.line.utf8)).incidents.first)
        #expect(incident.time == WallTime("2026-11-23 09:14:22 +0000")?.seconds)
        #expect((incident.app, incident.host, incident.version, incident.event) == ("a", "web", "", "hang"))
        #expect((incident.role, incident.cause, incident.count) == (.background, "blocked", 3))
        #expect(incident.frames == ["f()", "g()", "h()"])
    }

    @Test("Pieces of any size yield the same incidents")
    func pieces() {
        let text = Array((Self.line + "\n\n  \r\n{\n" + Self.line + "\r\n" + Self.line).utf8)
        let whole = Self.read(text)
        #expect(whole.incidents.count == 3 && whole.faults == 1 && whole.first == "line 4: it is cut off")
        for size in 1...40 { #expect(Self.read(text, pieces: size) == whole) }
    }

    @Test(
        "A line that is not an incident is counted, and the first one is reported with its number",
        arguments: [
            ("[]", "it is not a JSON object"), ("{}", "it has no member \"app\""), ("no", "it is not a JSON object"),
            (#"{"app":"a"}"#, "it has no member \"event\""), (#"{"app":1}"#, "it has another value where text belongs"),
            (#"{"app":"a","event":"e","signature":"s"}"#, "it has no member \"time\""),
            (#"{"app":"a","event":"e","signature":"s","time":"yesterday"}"#, "its time is not in UTC"),
            (#"{"app":"a","event":"e","signature":"s","time":"2026-13-01T00:00:00Z"}"#, "its time is not in UTC"),
            (#"{"app":"a","event":"e","signature":"s","time":"2026-11-01T00:00:00+01:00"}"#, "its time is not in UTC"),
            (#"{"app":"a","event":"e","signature":"s","time":"9999-01-01T00:00:00Z"}"#, "its time is in the future"),
            (#"{"app":"\q"}"#, "it has a broken escape"), (#"{"app":"\u12"}"#, "it has a broken escape"),
            (#"{"app":"a"#, "it is cut off"), (#"{"app":"a"} {}"#, "it has more than one JSON object"),
            (#"{"repeats":99999999999999999999}"#, "it has a number that is too large"),
            (#"{"repeats":"2"}"#, "it has text where a number belongs"),
            (#"{"x":"# + String(repeating: "[", count: 70), "it is nested too deeply"),
            (#"{"frames":1}"#, "its frames are no array"),
            (#"{"app":""# + String(repeating: "a", count: 70_000) + "\"}", "it is longer than 65536 bytes"),
        ])
    func faults(text: String, reason: String) throws {
        let result = Self.read(Array((Self.line + "\n" + text + "\n" + text + "\n").utf8))
        #expect(result.faults == 2)
        #expect(try #require(result.first).hasPrefix("line 2: \(reason)"), "\(result.first ?? "")")
    }

    @Test("Bytes that are not UTF-8 are not an incident; escapes are decoded, and long names are cut")
    func texts() throws {
        var bytes = Array(#"{"app":"a"#.utf8)
        bytes += [0xff, 0x22, 0x7d]
        #expect(Self.read(bytes).first == "line 1: it is not UTF-8")
        let long = String(repeating: "ä", count: 400)
        let text = Self.line.replacing(#""app":"a""#, with: #""app":"\u00e4\ud83d\ude00\n\"x""#)
            .replacing(#""host":"web""#, with: "\"host\":\"x\(long)\"")
        let incident = try #require(Self.read(Array(text.utf8)).incidents.first)
        #expect(incident.app == "ä😀\n\"x")
        #expect(incident.host.utf8.count <= LineScanner.textBytes && incident.host.hasPrefix("xää"))
    }

    @Test("Damaged lines yield an incident or a fault, and nothing else")
    func mutations() {
        var random = SeededGenerator(seed: 11)
        let line = Array(Self.line.utf8)
        for _ in 0..<3_000 {
            var bytes = line
            for _ in 0...random.below(4) {
                let index = random.below(bytes.count)
                switch random.below(3) {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: index)
                default: bytes.insert(random.pick(Array("{}[]\",:\\u0n".utf8)), at: index)
                }
            }
            bytes.removeAll { $0 == 0x0a }
            let result = Self.read(bytes)
            #expect(result.incidents.count(where: { $0.time < now.seconds }) + result.faults == 1)
        }
    }
}
