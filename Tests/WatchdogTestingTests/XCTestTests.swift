// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import WatchdogTesting
import XCTest

/// A test case that another test runs in a separate process, where it fails.
final class KitUnderXCTest: XCTestCase {
    private func skipUnlessSubject() throws {
        let isSubject = ProcessInfo.processInfo.environment["WATCHDOGD_XCTEST_SUBJECT"] != nil
        try XCTSkipUnless(isSubject, "run by XCTestTests")
    }

    func testSurvives() async throws {
        try skipUnlessSubject()
        let app = try await SupervisedApp.launch("HealthyApp")
        try await app.ready()
        try await app.terminate()
    }

    func testHangs() async throws {
        try skipUnlessSubject()
        let app = try await SupervisedApp.launch(
            .product("HangMain", "--how", "semaphore", "--after", "0.1"), LaunchSettings(update: .seconds(2)))
        try await app.expectSurvival(for: .seconds(30))
    }
}

@Suite("A test under XCTest", .reapsChildren)
struct XCTestTests {
    @Test("A hang fails an XCTest case with the verdict; the crash log is in the folder for crash logs")
    func failure() async throws {
        let runner = try TestRunner()
        defer { runner.remove() }
        let folder = runner.folder
        let (exitCode, text) = try await runner.run(
            ["WatchdogTestingTests.KitUnderXCTest"],
            environment: [
                "WATCHDOGD_XCTEST_SUBJECT": "1", "WATCHDOGD_TEST_REPORTS": folder.appendingPathComponent("logs").path,
            ])
        #expect(exitCode == 1, "\(text)")
        #expect(text.contains("KitUnderXCTest.testSurvives' passed"), "\(text)")
        #expect(text.contains("expected HangMain to survive for 30.0 seconds, but"), "\(text)")
        #expect(text.contains("verdict: Main thread waits for a DispatchSemaphore in "), "\(text)")
        let logs = try FileManager.default.contentsOfDirectory(
            atPath: folder.appendingPathComponent("logs").path)
        #expect(logs.count == 1)
        let log = try CrashLog(reading: folder.appendingPathComponent("logs/\(logs.first ?? "")").path)
        #expect(log.mainThread.contains("semaphore"))
    }
}
