// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import WatchdogTesting

@Suite("A test of a launch", .reapsChildren)
struct LaunchMeasurementTests {
    @Test("A check that failed or was not decided is a fault, with the phases that grew; advice alone is none")
    func faults() {
        let phases = (name: "baseline phases", outcome: "advice", text: "CPU time grew: main 2 ms → 4 ms")
        let time = (name: "baseline CPU time", outcome: "advice", text: "9 ms")
        let faults = (name: "baseline minor faults", outcome: "failed", text: "1200, baseline 1000")
        let runs = (name: "runs", outcome: "unclear", text: "no run was warm")
        let passed = (name: "max", outcome: "passed", text: "")
        #expect(LaunchMeasurement.faults([phases, time, passed]) == [])
        #expect(
            LaunchMeasurement.faults([passed, faults, time, phases])
                == ["baseline minor faults: 1200, baseline 1000", "baseline phases: CPU time grew: main 2 ms → 4 ms"])
        #expect(LaunchMeasurement.faults([runs]) == ["runs: undecided: no run was warm"])
    }

    @Test("Without a baseline, the error says how to write one")
    func noBaseline() async throws {
        let error = await #expect(throws: TestSetupError.self) {
            try await LaunchMeasurement.check("HealthyApp", [], baseline: "/nonexistent/a.json", isRecording: false)
        }
        #expect(error?.description.contains("write it with WATCHDOGD_RECORD_BASELINES=1") == true)
    }

    @Test("A program that ends before its launch does cannot be measured, and the error says why")
    func notMeasured() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("launch-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let error = await #expect(throws: TestSetupError.self) {
            try await LaunchMeasurement.check(
                .command("/bin/true"), ["--runs", "1", "--until", "ready"],
                baseline: folder.appendingPathComponent("base/true.json").path, isRecording: true)
        }
        #expect(error?.description.contains("/bin/true exited with code 0, before READY=1") == true)
    }

    @Test("A launch is compared with the recorded one: with itself it passes, with eight times the memory it fails")
    func compared() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("launch-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("base/python3.json").path
        func check(_ bytes: Int, isRecording: Bool = false) async throws {
            try await LaunchMeasurement.check(
                .command("/usr/bin/python3", "-c", "b = bytearray(\(bytes) << 20)"), ["--until", "exit"],
                baseline: file, isRecording: isRecording)
        }
        try await check(1, isRecording: true)
        try await check(1)
        let failure = await #expect(throws: ExpectationFailure.self) { try await check(8) }
        #expect(failure?.description.contains("baseline minor faults: ") == true)
    }
}
