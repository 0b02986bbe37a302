// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogPolicy

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

/// `WATCHDOGD_UPDATE_GOLDENS=1` writes the files anew.
///
/// Do that for what is added: a name that goes or changes keeps this version from reading the files of the one before.
@Suite("Names in saved files")
struct SavedNameTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let state: @Sendable () throws -> LaunchState

        var testDescription: String { name }
    }

    private static let samples = [
        Sample(name: "reloading", state: SavedSamples.reloading),
        Sample(name: "reload-ending", state: SavedSamples.reloadEnding),
        Sample(name: "commands", state: SavedSamples.commands),
        Sample(name: "owed-crash", state: SavedSamples.pendingCrash),
    ]

    /// Every type with the names of its fields and cases; ArchitectureTests compares it with the sources.
    @Test("are what they always were, of every field and case")
    func names() throws {
        let recorder = NameRecorder()
        for sample in try SavedSamples.all() { try recorder.record(sample) }
        let text = recorder.lines.map { $0 + "\n" }.joined()
        if StateFixture.areUpdated { try Data(text.utf8).write(to: StateFixture.file("names.txt")) }
        let known = try String(contentsOf: StateFixture.file("names.txt"), encoding: .utf8)
        let lines = Set(known.split(separator: "\n").map(String.init))
        #expect(lines.subtracting(recorder.lines).sorted() == [], "these have changed")
        #expect(Set(recorder.lines).subtracting(lines).sorted() == [], "these are new")
    }

    @Test("A launch in the middle of something is written as it always was", arguments: samples)
    private func bytes(_ sample: Sample) throws {
        let bytes = try sample.state().encoded()
        let file = StateFixture.launch(sample.name)
        if StateFixture.areUpdated { try Data(bytes).write(to: file) }
        #expect(try Array(Data(contentsOf: file)) == bytes, "the format has changed")
    }

    @Test("A launch in the middle of something is read as it was", arguments: samples)
    private func read(_ sample: Sample) throws {
        let original = try sample.state()
        let read = try LaunchState.decode(Array(Data(contentsOf: StateFixture.launch(sample.name))))
        #expect(read.machine == original.machine)
        #expect(ProcessMachine(resuming: read.machine) != nil)
        #expect(read.account == original.account)
        #expect(read.pendingReports == original.pendingReports)
        #expect(read.pendingCrash == original.pendingCrash)
        #expect(read.commands == original.commands)
        #expect(read.reload?.machine == original.reload?.machine)
        #expect(read.reload?.machine.nextDeadline == original.reload?.machine.nextDeadline)
        #expect(read.reload?.commands == original.reload?.commands)
        #expect(read.reload?.command == original.reload?.command)
        #expect(try read.encoded() == original.encoded())
    }
}

/// The files of earlier versions, which this one must read.
enum StateFixture {
    private static let folder = String(#filePath.prefix(upTo: #filePath.lastIndex(of: "/") ?? #filePath.endIndex))

    static var areUpdated: Bool { ProcessInfo.processInfo.environment["WATCHDOGD_UPDATE_GOLDENS"] == "1" }

    static func file(_ name: String) -> URL { URL(filePath: "\(folder)/Fixtures/\(name)") }

    static func launch(_ name: String) -> URL { file("state-\(LaunchState.format)-\(name).bin") }
}
