// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRecording
@testable import WatchdogRendering

/// Recordings of real programs of each kind, made on rung A by `scripts/recordings --kept`.
///
/// `WATCHDOGD_UPDATE_GOLDENS=1 swift test --filter RecordedLaunchTests` rewrites the texts.
@Suite("Recordings of real programs")
struct RecordedLaunchTests {
    struct Program: Sendable, CustomTestStringConvertible {
        var name: String
        var kind = LaunchedProgram.Kind.dynamic
        var runtime: String? = "glibc"
        /// The phases between `exec` and `main`.
        var startup: [LaunchPhase.Kind] = [
            .linkerStart, .mapping, .relocation, .libraryConstructors, .ownConstructors,
        ]
        /// The phases that it may be too quick for.
        var optional: Set<LaunchPhase.Kind> = []
        var end = LaunchEnd.Kind.exit

        var testDescription: String { name }
    }

    private static let programs = [
        Program(name: "c"), Program(name: "swift", end: .ready), Program(name: "python3"), Program(name: "node"),
        Program(name: "static", kind: .static, runtime: nil, startup: [.ownConstructors]),
        Program(name: "musl", runtime: "musl", optional: [.mapping]),
        Program(name: "musl-static", kind: .static, runtime: nil, startup: [.ownConstructors]),
        Program(name: "go", kind: .static, runtime: nil, startup: []),
    ]

    private func file(_ name: String) -> String { TestFiles.folder(of: #filePath) + "/Goldens/recorded/" + name }

    private func recording(_ program: Program) throws -> LaunchRecording {
        try RecordingCoding.decode(try #require(TestFiles.read(file("\(program.name).launch"))))
    }

    @Test("have the phases of their kind, without gaps", arguments: programs)
    func phases(program: Program) throws {
        let recording = try recording(program)
        #expect(recording.ladder.filter(\.used).map(\.rung) == [.a])
        #expect(recording.program.kind == program.kind)
        #expect(recording.program.runtime == program.runtime)
        #expect(recording.end.kind == program.end)
        let kinds = recording.phases.map(\.kind)
        let startup = program.startup.filter { !program.optional.contains($0) || kinds.contains($0) }
        #expect(kinds.starts(with: [.request, .exec] + startup + [.main]))
        #expect(zip(recording.phases, recording.phases.dropFirst()).allSatisfy { $0.end == $1.begin })
        let times = recording.phases.compactMap { phase in phase.time.map { ($0, phase.ownWall) } }
        #expect(times.count == recording.phases.count)
        for (time, wall) in times { #expect(time.running + time.waiting + time.blocked <= wall) }
    }

    @Test("have unchanged texts", arguments: programs)
    func text(program: Program) throws {
        let text = try recording(program).text(LaunchTextStyle(columns: 79))
        let path = file("\(program.name).80.txt")
        if getenv("WATCHDOGD_UPDATE_GOLDENS").map({ String(cString: $0) }) == "1" {
            try TestFiles.write(Array(text.utf8), to: path)
        }
        let golden = try #require(TestFiles.read(path), "\(path) is missing; set WATCHDOGD_UPDATE_GOLDENS=1")
        #expect(text == String(decoding: golden, as: UTF8.self), "\(path)")
    }

    @Test("show only marks that a recorder makes", arguments: programs)
    func marks(program: Program) throws {
        let marks = Set(try recording(program).marks.map(\.kind))
        #expect(marks.isSuperset(of: [.exec]))
        #expect(marks.contains(.exit) == (program.end == .exit))
        #expect(marks.contains(.hello) == (program.name == "swift"))
    }
}
