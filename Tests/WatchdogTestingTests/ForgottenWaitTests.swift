// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import WatchdogTesting

/// A test that another test runs in a separate process, because its runner fails.
@Suite(
    "A red wait",
    .enabled(if: ProcessInfo.processInfo.environment["WATCHDOGD_RED_TESTS"] != nil, "run by ForgottenWaitTests"))
struct RedWaitTests {
    @Test("The task that expects the kill is forgotten")
    func forgotten() async throws {
        let app = try await SupervisedApp.launch(.command("/bin/sleep", "600"))
        Task { try await app.expectKill() }
        while !ForgottenWaits.isPending { await Task.yield() }
    }
}

@Suite("A forgotten wait", .reapsChildren)
struct ForgottenWaitTests {
    @Test("Its test passes, but its runner fails, names the test and what it waits for, and says what to do")
    func forgotten() async throws {
        let runner = try TestRunner()
        defer { runner.remove() }
        let (exitCode, text) = try await runner.run(
            ["--testing-library", "swift-testing", "--filter", #"WatchdogTestingTests\.RedWaitTests/forgotten\(\)"#],
            environment: ["WATCHDOGD_RED_TESTS": "1"])
        #expect(exitCode == 70, "\(text)")
        let message = try #require(text.split(separator: "\n").last { $0.hasPrefix("watchdogd: ") }, "\(text)")
        #expect(message.hasPrefix("watchdogd: test forgotten() waits for "), "\(text)")
        #expect(message.hasSuffix(", but the tests are over; write 'try await', or await the task"), "\(text)")
    }
}
