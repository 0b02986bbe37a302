// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogReport

extension EndToEnd {
    /// A stand-in for watchdogd's helper.
    struct Symbolicator: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// A shell script; nil for a missing helper.
        let script: String?
        /// The note that the report must have.
        let note: String
    }

    @Suite("A failing symbolication helper")
    struct CaptureTests {
        /// Distinguishes it from all other sleeps.
        private static let sleep = "\(100_000 + getpid())"

        private static let faults = [
            Symbolicator(testDescription: "is missing", script: nil, note: "was not found"),
            Symbolicator(testDescription: "fails", script: "echo out of luck >&2; exit 3", note: "out of luck"),
            Symbolicator(testDescription: "is killed", script: "kill -KILL $$", note: "was ended by"),
            Symbolicator(testDescription: "says nothing", script: "exit 0", note: "watchdogd-symbolicate"),
            Symbolicator(
                testDescription: "prints garbage", script: "head -c 100000 /dev/urandom", note: "watchdogd-symbolicate"),
            Symbolicator(testDescription: "prints without end", script: "exec yes", note: "wrote more than"),
            Symbolicator(
                testDescription: "hangs", script: "sleep \(sleep) & sleep \(sleep)", note: "did not end within"),
        ]

        @Test("does not delay the kill, and the report is written with a note", arguments: faults)
        func symbolicator(fault: Symbolicator) throws {
            let scratch = try Scratch()
            let watchdogd = try install(in: scratch, fault.script)
            let ending = try Supervision(
                ["--update", "500ms", "--ping", "100ms"], [product("HangMain"), "--how", "sleep", "--after", "0.1"],
                binary: watchdogd, scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.verdictKind == "blocked")
            let report = try #require(ending.reports.first)
            expectPatience(report)
            let linux = try #require(report.body.linux)
            let allowance = linux.allowance
            let due = allowance.nanoseconds + allowance.creditNanoseconds
            #expect(allowance.elapsedNanoseconds - due < 10_000_000_000)
            #expect(linux.kill.outcome == "verified")
            #expect(linux.kill.nanoseconds ?? .max < 10_000_000_000)
            let notes = linux.notes + (linux.capture?.notes ?? [])
            #expect(notes.contains { $0.contains(fault.note) }, "\(notes)")
            // The snapshot alone provides the threads, and the main thread's location.
            #expect(report.body.threads.count >= 1)
            #expect(report.body.threads[report.body.faultingThread].id == report.body.pid)
            #expect(sleepers() == [])
        }

        private func install(in scratch: Scratch, _ script: String?) throws -> String {
            let directory = try scratch.makeDirectory("bin")
            try FileManager.default.copyItem(atPath: product("watchdogd"), toPath: "\(directory)/watchdogd")
            if let script { try scratch.write("#!/bin/sh\n\(script)\n", to: "bin/watchdogd-symbolicate", mode: 0o755) }
            return "\(directory)/watchdogd"
        }

        /// The helper's environment is empty, so its descendants cannot be found by a marker.
        private func sleepers() -> [String] {
            Leftovers.describe(names(in: "/proc").compactMap { Int32($0) }).filter {
                $0.hasSuffix(": sleep \(Self.sleep)")
            }
        }
    }
}
