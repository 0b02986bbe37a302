// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReportFixtures
import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogRecording

@testable import WatchdogReport
@testable import WatchdogVerdict

/// `docs/report-schema.json` describes the `linux` object of every report.
@Suite("The schema of reports")
struct SchemaTests {
    private static let folder = TestFiles.folder(of: #filePath)

    private static let decoded = Result {
        let bytes = try #require(TestFiles.read(folder + "/../../docs/report-schema.json"))
        return try JSONDecoder().decode(JSONTree.self, from: Data(bytes))
    }

    private func schema() throws -> JSONTree { try Self.decoded.get() }

    @Test("Every golden matches it", arguments: (Causes.all + Samples.goldens).map(\.name))
    func goldens(name: String) throws {
        let report = try #require((Causes.all + Samples.goldens).first { $0.name == name }?.report)
        let bytes = try JSONEncoder().encode(try #require(report.body.linux))
        let value = try JSONDecoder().decode(JSONTree.self, from: Data(bytes))
        let schema = try schema()
        #expect(SchemaValidator(root: schema).faults(value, schema, "linux") == [])
    }

    @Test("A report of failed probes that counts later ones matches it")
    func missed() throws {
        var facts = Samples.facts()
        var missed = MissedDetails(.probe, of: "tcp:localhost:1", failure: "connection refused", count: 3)
        missed.add([
            .init(sinceNanoseconds: 6, durationNanoseconds: 1),
            .init(sinceNanoseconds: 3, durationNanoseconds: 1, reason: "connection refused"),
        ])
        facts.missed = missed
        var report = Samples.report(facts)
        report.countRepeat(at: facts.captureTime)
        let bytes = try JSONEncoder().encode(try #require(report.body.linux))
        let schema = try schema()
        let value = try JSONDecoder().decode(JSONTree.self, from: Data(bytes))
        #expect(SchemaValidator(root: schema).faults(value, schema, "linux") == [])
    }

    @Test("It reports an unknown key, a missing one, a wrong type and a wrong word")
    func wrong() throws {
        let schema = try schema()
        let validator = SchemaValidator(root: schema)
        let verdict: JSONTree = .object(["kind": .text("bored"), "line": .integer(1), "more": .integer(2)])
        let faults = validator.faults(verdict, try #require(schema["$defs"]?["verdict"]), "verdict")
        #expect(faults.count == 4, "\(faults)")
    }

    @Test("It leaves only objects open whose keys are names")
    func closed() throws {
        var open: [String] = []
        func visit(_ value: JSONTree, _ path: String) {
            if value["type"]?.string == "object", value["additionalProperties"] == nil { open.append(path) }
            for (key, member) in value.members { visit(member, "\(path)/\(key)") }
        }
        visit(try schema(), "")
        #expect(open == [])
    }

    @Test("Its words are those of the code")
    func words() throws {
        let schema = try schema()
        #expect(
            schema["$defs"]?["verdict"]?["properties"]?["kind"]?["enum"]?.strings
                == Verdict.Kind.allCases.map(\.rawValue))
        #expect(
            schema["properties"]?["findings"]?["items"]?["properties"]?["kind"]?["enum"]?.strings
                == Finding.Kind.allCases.map(\.rawValue))
        let lifecycle = schema["properties"]?["lifecycle"]?["properties"]
        #expect(
            lifecycle?["history"]?["items"]?["properties"]?["state"]?["enum"]?.strings
                == LifecycleState.allCases.map(\.rawValue))
        #expect(
            lifecycle?["lockedFiles"]?["items"]?["properties"]?["kind"]?["enum"]?.strings
                == LockedFile.Kind.allCases.map(\.rawValue))
        #expect(
            schema["properties"]?["missed"]?["properties"]?["kind"]?["enum"]?.strings
                == MissedDetails.Kind.allCases.map(\.rawValue))
        #expect(schema["properties"]?["kind"]?["enum"]?.strings == ReportKind.allCases.map(\.rawValue))
        #expect(
            schema["$defs"]?["holder"]?["properties"]?["relation"]?["enum"]?.strings
                == WaitRelation.allCases.map(\.rawValue))
    }
}

/// `docs/launch-schema.json` describes the files of `watchdogd record`.
@Suite("The schema of recorded launches")
struct LaunchSchemaTests {
    private func schema() throws -> JSONTree {
        let path = TestFiles.folder(of: #filePath) + "/../../docs/launch-schema.json"
        return try JSONDecoder().decode(JSONTree.self, from: Data(try #require(TestFiles.read(path))))
    }

    private func faults(_ recording: LaunchRecording) throws -> [String] {
        let value = try JSONDecoder().decode(JSONTree.self, from: Data(try RecordingCoding.encode(recording)))
        return SchemaValidator(root: try schema(), isStrict: true).faults(value)
    }

    /// A complete recording.
    private static var complete: LaunchRecording {
        var recording = Launches.starSearcher
        recording.end = LaunchEnd(kind: .killed, time: recording.end.time, code: 9)
        recording.phases[1].stopped = ms(0.1)
        recording.lanes[0].end = recording.lanes[0].spans.last?.end
        recording.lanes[0].accounting = ThreadTime(running: ms(1_200), waiting: ms(40))
        recording.ladder = [RungAttempt(rung: .a, used: false, reason: "denied", remedy: "run as root")]
        recording.lostRecords = 3
        recording.notes = ["A wake-up is missing."]
        return recording
    }

    @Test("Every recording matches it, without unknown keys")
    func recordings() throws {
        let recordings = [
            Launches.starSearcher, Launches.python, Launches.killed, Launches.rungC, Launches.rungD, Self.complete,
            Launches.constructors,
        ]
        for recording in recordings { #expect(try faults(recording) == []) }
    }

    @Test("It reports a wrong word, a wrong type and a missing key")
    func wrong() throws {
        let schema = try schema()
        let phase: JSONTree = .object(["kind": .text("lunch"), "begin": .fraction(0.5), "end": .integer(1)])
        let faults = SchemaValidator(root: schema).faults(phase, try #require(schema["$defs"]?["phase"]), "phase")
        #expect(faults.count == 3, "\(faults)")
    }

    @Test("Its words are those of the code")
    func words() throws {
        let schema = try schema()
        func words(_ definition: String, _ key: String) -> [String]? {
            schema["$defs"]?[definition]?["properties"]?[key]?["enum"]?.strings
        }
        #expect(words("phase", "kind") == LaunchPhase.Kind.allCases.map(\.rawValue))
        #expect(words("mark", "kind") == WatchdogRecording.LaunchMark.Kind.allCases.map(\.rawValue))
        #expect(words("span", "state") == LaneSpan.State.allCases.map(\.rawValue))
        #expect(words("attempt", "rung") == Rung.allCases.map(\.rawValue))
    }
}
