// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import WatchdogTesting

/// Tests that another test runs in a separate process, where they fail.
@Suite(
    "A red test",
    .enabled(if: ProcessInfo.processInfo.environment["WATCHDOGD_RED_TESTS"] != nil, "run by AttachmentTests"),
    .reapsChildren)
struct RedTests {
    private func hung() async throws -> SupervisedApp {
        try await SupervisedApp.launch(
            .product("HangMain", "--how", "semaphore", "--after", "0.1"), LaunchSettings(update: .seconds(2)))
    }

    @Test("A plain expectation about a crash log fails")
    func plain() async throws {
        let kill = try await hung().expectKill()
        #expect(try kill.report.mainThread.contains("noSuchFunction()"))
    }

    @Test("An expectation of the kit fails on another thread")
    func survival() async throws {
        try await hung().expectSurvival(for: .seconds(30))
    }

    @Test("An expectation after an awaited kill fails")
    func again() async throws {
        let app = try await hung()
        _ = try await app.termination
        try await app.expectKill(.backgroundTask)
    }
}

@Suite("Attachments", .reapsChildren)
struct AttachmentTests {
    @Test(
        "A failing test has the crash log attached, once, whichever expectation fails",
        arguments: ["plain", "survival", "again"])
    func attached(name: String) async throws {
        let runner = try TestRunner()
        defer { runner.remove() }
        let attachments = runner.folder.appendingPathComponent("attachments")
        try FileManager.default.createDirectory(at: attachments, withIntermediateDirectories: true)
        let (exitCode, text) = try await runner.run(
            [
                "--testing-library", "swift-testing", "--filter", #"WatchdogTestingTests\.RedTests/\#(name)\(\)"#,
                "--attachments-path", attachments.path,
            ],
            environment: ["WATCHDOGD_RED_TESTS": "1"])
        #expect(exitCode == 1, "\(text)")
        #expect(text.contains("with 1 issue"), "\(text)")
        let files = try FileManager.default.contentsOfDirectory(atPath: attachments.path)
        #expect(files.count == 1, "\(text)")
        let log = try CrashLog(reading: attachments.appendingPathComponent(files.first ?? "").path)
        #expect(log.mainThread.contains("semaphore"))
    }
}
