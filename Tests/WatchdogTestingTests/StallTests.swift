// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import WatchdogTesting

/// Tests that another test runs in a separate process, where one fails.
@Suite(
    "A red stall",
    .enabled(if: ProcessInfo.processInfo.environment["WATCHDOGD_RED_TESTS"] != nil, "run by StallTests"),
    .reapsChildren)
struct RedStallTests {
    @Test("A body blocks the main actor for longer than the limit", .mainLoopStall(limit: .seconds(1)))
    @MainActor func longer() {
        // Until the process that takes the stack has started and exited, however late that is.
        let end = ContinuousClock.now + patience
        while !ChildProcess.anyRuns, ContinuousClock.now < end { blockingForTheTest(0.1) }
        while ChildProcess.anyRuns, ContinuousClock.now < end { blockingForTheTest(0.1) }
        blockingForTheTest(2)
    }

    @Test("A body blocks the main actor for less than the limit", .mainLoopStall(limit: .seconds(60)))
    @MainActor func shorter() { blockingForTheTest(1) }
}

/// All tests share the runner's main thread, so expectations cover only these tests' own stalls.
@Suite("Stalls of the main loop", .serialized, .reapsChildren)
struct StallTests {
    @Test("A test that blocks the main actor is reported with the blocking stack")
    func stall() async throws {
        let monitor = try MainLoopMonitor(limit: .seconds(1))
        // On a busy machine, it takes seconds to take the stack.
        await block(for: 3) { monitor.hasSample }
        let stalls = await monitor.finish()
        let stall = try #require(stalls.first { $0.stack.contains("blockingForTheTest") }, "\(stalls)")
        #expect(stall.duration > .seconds(1))
        #expect(stall.sample?.contains("Call tree") == true)
    }

    @Test("A thread's stack is found by its number, not by a number of samples or in a name")
    func stackOfThread() {
        let text = """
            Call tree, outermost call first; each with the number of samples that showed it:

              6 Thread 1 "worker 7", main
                blocked in poll 100.0 %; ran 0.00 ms, waited 0.00 ms for a CPU
              6   main  (in app)
              6     poll  (in libc.so.6)

              6 Thread 6 "worker"
                ran 100.0 %
              6   spin  (in app)  app.c:7

              6 each of Threads 7 "worker", 19 "worker 1"
                blocked in futex 100.0 %; ran 0.00 ms, waited 0.00 ms for a CPU
              6   wait  (in app)
            """
        for (thread, stack) in [
            (1, "\n  main  (in app)\n  poll  (in libc.so.6)"), (6, "\n  spin  (in app)  app.c:7"),
            (7, "\n  wait  (in app)"), (19, "\n  wait  (in app)"), (9, ""), (100, ""),
        ] as [(Int32, String)] {
            #expect(SelfSample.stack(of: thread, in: text) == stack)
        }
    }

    @Test("A stall below the limit is not reported", .mainLoopStall(limit: .seconds(600)))
    func noStall() async {
        await block(for: 0)
    }

    @Test("The trait fails a test whose body blocks the main actor, with the stack in the message; a short one passes")
    func trait() async throws {
        let runner = try TestRunner()
        defer { runner.remove() }
        let attachments = runner.folder.appendingPathComponent("attachments")
        try FileManager.default.createDirectory(at: attachments, withIntermediateDirectories: true)
        func run(_ name: String) async throws -> (exitCode: Int32, text: String) {
            try await runner.run(
                [
                    "--testing-library", "swift-testing", "--attachments-path", attachments.path,
                    "--filter", #"WatchdogTestingTests\.RedStallTests/\#(name)\(\)"#,
                ],
                environment: ["WATCHDOGD_RED_TESTS": "1"])
        }
        let short = try await run("shorter")
        #expect(short.exitCode == 0 && short.text.contains("with 1 test in 1 suite passed"), "\(short.text)")
        let (exitCode, text) = try await run("longer")
        #expect(exitCode == 1, "\(text)")
        #expect(text.contains("with 1 issue"), "\(text)")
        let message = try #require(text.firstRange(of: "the main actor was busy for "), "\(text)")
        let rest = text[message.upperBound...]
        #expect(rest.split(separator: "\n").first?.contains(" seconds, longer than 1.0 seconds") == true, "\(text)")
        #expect(rest.contains("blockingForTheTest"), "\(text)")
        let files = try FileManager.default.contentsOfDirectory(atPath: attachments.path)
        #expect(files == ["stall.txt"])
    }

    /// Blocks the main actor for at least this long, until the condition holds.
    @MainActor private func block(for seconds: Double, until condition: () -> Bool = { true }) {
        let end = ContinuousClock.now + patience
        blockingForTheTest(seconds)
        while !condition(), ContinuousClock.now < end { blockingForTheTest(1) }
    }
}

@inline(never)
private func blockingForTheTest(_ seconds: Double) {
    usleep(UInt32(seconds * 1_000_000))
}
