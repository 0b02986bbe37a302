// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import WatchdogTesting

/// The cost of tests of real processes, for `Benchmarks/run testkit`: the kit works only in a test runner.
///
/// Each figure is a line in the file that the variable names: its name, a space, and nanoseconds.
@Suite(
    "Figures", .serialized, .reapsChildren,
    .enabled(
        if: ProcessInfo.processInfo.environment["WATCHDOGD_KIT_FIGURES"] != nil, "run by Benchmarks/run testkit"))
struct FigureTests {
    private static let path = ProcessInfo.processInfo.environment["WATCHDOGD_KIT_FIGURES"]
    private static let repeats = 40
    private static let tests = 200

    @Test("A program that exits by itself, alternately without the kit and with it")
    func termination() async throws {
        for _ in 0..<Self.repeats {
            try await record("sleep") { try end(of: "/bin/sleep", ["0.1"]) }
            try await record("termination") {
                let end = try await SupervisedApp.launch(.command("/bin/sleep", "0.1")).termination
                #expect(end.exitCode == 0)
            }
        }
    }

    @Test("An app with the library that exits by itself, alternately without the kit and with it")
    func ready() async throws {
        let program = Program.product("HealthyApp", "--run-for", "0.1")
        for _ in 0..<Self.repeats {
            try await record("app") { try end(of: try program.path(), program.arguments) }
            try await record("ready") {
                let app = try await SupervisedApp.launch(program)
                try await app.ready()
                #expect(try await app.termination.exitCode == 0)
            }
        }
    }

    @Test("Many tests in parallel")
    func parallel() async throws {
        try await record("all") {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<Self.tests {
                    group.addTask {
                        try await record("each") {
                            let app = try await SupervisedApp.launch("HealthyApp")
                            try await app.ready()
                            #expect(try await app.terminate().cause == .terminated)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Tests on virtual time: of a hang, and of a minute with a background task")
    @MainActor
    func virtual() async throws {
        for _ in 0..<Self.repeats {
            try await record("hang") {
                let supervisor = VirtualSupervisor { Editor(clock: $0) }
                await supervisor.launch()
                await supervisor.send(event: "hang", payload: "11")
                #expect(supervisor.kill?.code == .ateBadFood)
            }
            try await record("minute") {
                let supervisor = VirtualSupervisor { clock in
                    let editor = Editor(clock: clock)
                    editor.cleanUp = .seconds(4)
                    return editor
                }
                await supervisor.launch()
                await supervisor.background()
                await supervisor.advance(by: .seconds(60))
                #expect(supervisor.kill == nil)
                #expect(supervisor.state == .suspended)
            }
        }
    }

    private func end(of program: String, _ arguments: [String]) throws {
        let process = try SupervisorProcess.spawn(program, arguments, output: "/dev/null", errors: "/dev/null")
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 { try #require(errno == EINTR) }
        #expect(status == 0)
    }

    /// Records the duration of a function.
    private nonisolated(nonsending) func record(
        _ name: String, _ body: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        let duration = try await ContinuousClock().measure(body)
        let (seconds, attoseconds) = duration.components
        let line = "\(name) \(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)\n"
        let file = open(try #require(Self.path), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        // One write(2) with O_APPEND: lines of parallel tasks do not mix.
        #expect(write(file, line, line.utf8.count) == line.utf8.count)
    }
}
