// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Testing
import WatchdogTesting
import XCTest

/// A test case that another test runs in a process of its own: it fails there.
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
            .product("HangMain", "--how", "semaphore", "--after", "0.1"), LaunchSettings(update: .milliseconds(500)))
        try await app.expectSurvival(for: .seconds(30))
    }
}

@Suite("A test under XCTest", .timeLimit(.minutes(5)))
struct XCTestTests {
    @Test("A hang fails an XCTest case with the verdict; the crash log is in the folder for crash logs")
    func failure() throws {
        let bundle = try #require(CommandLine.arguments.first { $0.hasSuffix(".xctest") })
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("xctest-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let runner = Process()
        runner.executableURL = URL(fileURLWithPath: bundle)
        runner.arguments = ["WatchdogTestingTests.KitUnderXCTest"]
        runner.environment = ProcessInfo.processInfo.environment.merging(
            [
                "WATCHDOGD_XCTEST_SUBJECT": "1", "WATCHDOGD_TEST_REPORTS": folder.appendingPathComponent("logs").path,
                "TMPDIR": folder.path,
            ]) { $1 }
        let output = folder.appendingPathComponent("output")
        try Data().write(to: output)
        let file = try FileHandle(forWritingTo: output)
        (runner.standardOutput, runner.standardError) = (file, file)
        let isOver = DispatchSemaphore(value: 0)
        runner.terminationHandler = { _ in isOver.signal() }
        try runner.run()
        guard isOver.wait(timeout: .now() + 240) == .success else {
            runner.terminate()
            Issue.record("the runner has not ended after four minutes")
            return
        }
        let text = try String(contentsOf: output, encoding: .utf8)
        #expect(runner.terminationStatus == 1, "\(text)")
        #expect(text.contains("KitUnderXCTest.testSurvives' passed"), "\(text)")
        #expect(text.contains("expected HangMain to survive for 30.0 seconds, but"), "\(text)")
        #expect(text.contains("verdict: Main thread blocked"), "\(text)")
        let logs = try FileManager.default.contentsOfDirectory(
            atPath: folder.appendingPathComponent("logs").path)
        #expect(logs.count == 1)
        let log = try CrashLog(reading: folder.appendingPathComponent("logs/\(logs.first ?? "")").path)
        #expect(log.mainThread.contains("semaphore"))
    }
}
