// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogConfiguration
import WatchdogLinux

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("Launches without lookups", .serialized, .reapsChildren)
struct AtOnceTests {
    private static let path = "/usr/bin/server"

    private func program(_ change: (inout ProgramSettings) -> Void = { _ in }) -> ProgramSettings {
        var program = ProgramSettings(command: Command(program: Self.path, arguments: ["server"]))
        change(&program)
        return program
    }

    @Test("A program that was already found under its path needs no search; another program does")
    func foundProgram() {
        #expect(program().names(nothingBut: Self.path))
        #expect(!program().names(nothingBut: nil))
        #expect(!program().names(nothingBut: "/usr/bin/other"))
        let searched = ProgramSettings(command: Command(program: "server", arguments: ["server"]))
        #expect(!searched.names(nothingBut: "server"), "a directory of PATH may have another one by now")
    }

    @Test("Users, groups, files and other outside state are looked up for each launch")
    func lookUps() {
        let needy: [(inout ProgramSettings) -> Void] = [
            { $0.user = "www" }, { $0.group = "www" }, { $0.supplementaryGroups = ["www"] },
            { $0.environmentFiles = [EnvironmentFile(pattern: "/etc/default/server", isOptional: true)] },
            { $0.workingDirectory = WorkingDirectory(.path("/srv"), isOptional: true) },
            { $0.standardOutput = .file(path: "/var/log/a") }, { $0.standardOutput = .truncate(path: "/var/log/a") },
            { $0.standardError = .append(path: "/var/log/a") },
        ]
        for change in needy { #expect(!program(change).names(nothingBut: Self.path)) }
    }

    @Test("Settings that the kernel or the child resolves need no lookup")
    func nothing() {
        let content: [(inout ProgramSettings) -> Void] = [
            { $0.workingDirectory = WorkingDirectory(.path("/srv")) },
            { $0.workingDirectory = WorkingDirectory(.home) },
            { $0.standardOutput = .null }, { $0.standardError = .journal }, { $0.standardError = .inherit },
        ]
        for change in content { #expect(program(change).names(nothingBut: Self.path)) }
        // The test's own output may be any file, which is examined if it could be the journal.
        let isExamined = Environment.inherited["JOURNAL_STREAM"] != nil
        #expect(program { $0.standardOutput = .inherit }.names(nothingBut: Self.path) == !isExamined)
    }

    @Test("One launch per turn of the loop starts immediately")
    func turns() throws {
        let bench = try HostBench("turns")
        var allowed = 0
        for _ in 0..<3 where bench.host.launchTurn.take() { allowed += 1 }
        #expect(allowed == 1)
        var call: CallSource?
        call = try bench.loop.soon { allowed += bench.host.launchTurn.take() ? 1 : 0 }
        try bench.turn("the loop has turned") { allowed == 2 }
        withExtendedLifetime(call) {}
    }
}
