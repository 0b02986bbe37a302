// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    /// A way to hang, and the report's expected content.
    struct Hang: Sendable, CustomTestStringConvertible {
        let how: String
        /// Functions of the main thread, innermost first.
        let functions: [String]
        /// Another thread that is involved.
        var thread: String?
        var testDescription: String { how }
    }

    @Suite("HangMain")
    struct HangTests {
        static let hangs: [Hang] = [
            Hang(how: "sleep", functions: ["waitForServer", "loadPosts", "refreshTimeline"]),
            Hang(
                how: "semaphore", functions: ["waitForDownload", "readContents", "openDocument"],
                thread: "downloader"),
            Hang(how: "deadlock", functions: ["lockIndex", "updateIndex", "saveSettings"], thread: "indexer"),
            Hang(how: "spin", functions: ["sumPrimes", "layoutBars", "renderChart"]),
            Hang(how: "network", functions: ["receiveResponse", "requestToken", "signIn"], thread: "server"),
            Hang(how: "filelock", functions: ["lockCatalog", "loadCatalog", "openLibrary"]),
            Hang(how: "dns", functions: ["resolveHost", "downloadAvatar", "refreshAvatars"]),
        ]

        @Test("A hang is reported at half of its allowance, and again when it is killed")
        func half() throws {
            let ending = try supervise(
                ["--update", "2s", "--ping", "100ms"], [product("HangMain"), "--how", "sleep", "--after", "0.2"])
            #expect(ending.exitCode == 137)
            let slow = ending.errors.filter { $0.contains("has not answered for") }
            #expect(slow.count == 1, "\(ending.errors)")
            #expect(slow.first?.contains("its update allowance ends in") == true)
        }

        @Test(
            "A hang that lasts until the exit counts for --expect too",
            arguments: [("no hang", 1), ("no hang over 250ms", 1), ("no hang over 1min", 0)])
        func endless(condition: String, code: Int32) throws {
            let ending = try supervise(
                ["--update", "60s", "--terminate", "500ms", "--ping", "50ms", "--for", "2s", "--expect", condition],
                [product("HangMain"), "--how", "sleep", "--after", "0.2"])
            #expect(ending.exitCode == code, "\(ending.errors)")
            #expect(ending.errors.contains { $0.contains("it had not answered for") } == (code == 1))
        }

        @Test("A hang is killed, and the report shows how its main thread got there", arguments: hangs)
        func killed(hang: Hang) throws {
            let ending = try supervise(
                ["--update", "700ms", "--ping", "100ms"],
                [product("HangMain"), "--how", hang.how, "--after", "0.2"])
            #expect(ending.exitCode == 137)
            #expect(ending.output == "HangMain: ready\n")

            let summary = try #require(ending.summary)
            #expect(summary.app == "HangMain")
            #expect(summary.termination == "watchdog")
            #expect(summary.launch?.source == "channel")
            #expect(summary.exit?.signal == "SIGKILL")
            #expect(summary.isDeathVerified)
            #expect(summary.exitCode == 137)
            let incident = try #require(summary.incidents.first)
            #expect(summary.incidents.count == 1)
            #expect(incident.code == "0x8badf00d")
            #expect(incident.event == "scene-update")
            #expect(incident.allowanceMilliseconds == 700)
            #expect(incident.isEnforced)
            #expect(incident.isDeathVerified == true)

            let report = try #require(ending.reports.first)
            #expect(ending.reports.count == 1)
            #expect(incident.report == ending.reportPaths[0])
            #expect(summary.report == incident.report)
            let explanation = Explanation(of: report)
            let culprit = try #require(explanation.culprit)
            #expect(incident.verdict == explanation.line)
            #expect(
                ending.errors.suffix(4) == [
                    "watchdogd: HangMain[\(summary.pid ?? 0)] killed: did not answer within 700 ms (0x8badf00d)",
                    "  \(culprit)",
                    "  \(explanation.verdict)",
                    "  \(ending.reportPaths[0])",
                ])
            check(report, pid: summary.pid)
            expectHonestKind(report, isSpinning: hang.how == "spin")
            expectFrames(report, hang)
        }

        private func check(_ report: Report, pid: Int32?) {
            #expect(report.metadata.bugType == "309")
            #expect(report.metadata.linux?.event == "scene-update")
            #expect(report.body.pid == pid.map(Int.init))
            #expect(report.body.procPath == product("HangMain"))
            #expect(report.body.parentProc == "watchdogd")
            #expect(report.body.exception == .watchdogKill)
            #expect(report.body.termination?.code == 0x8bad_f00d)
            #expect(report.body.termination?.namespace == "WATCHDOG")
            #expect(report.body.linux?.kill.outcome == "verified")
            #expect(report.body.linux?.enforcement == "kill")
            #expect(report.body.linux?.allowance.event == "scene-update")
            expectPatience(report)
        }

        /// On a busy machine, a spinning thread waits for a CPU instead.
        ///
        /// A virtual machine may also lose its CPUs to its host: the kernel counts such time neither as running nor as
        /// waiting.
        private func expectHonestKind(_ report: Report, isSpinning: Bool) {
            guard let verdict = report.body.linux?.verdict else {
                Issue.record("a report without a verdict")
                return
            }
            if isSpinning {
                #expect(
                    verdict.kind == .spinning || [.busy, .starved].contains(verdict.kind) && wasCrowded(report)
                        || verdict.kind == .partlyRunning && wasCrowded(report) && wantedCPU(report),
                    "\(verdict.line)")
                #expect(verdict.runningTenths ?? 0 > 0)
            } else {
                #expect(verdict.kind == .blocked, "\(verdict.line)")
                #expect(verdict.line.hasPrefix("Main thread blocked"))
            }
            #expect(report.body.applicationSpecificInformation?.values.contains { $0.contains(verdict.line) } == true)
        }

        private func wasCrowded(_ report: Report) -> Bool { report.body.linux?.verdict.waitingTenths ?? 0 > 50 }

        /// Whether the main thread ran or waited for a CPU for four fifths of the time.
        private func wantedCPU(_ report: Report) -> Bool {
            let verdict = report.body.linux?.verdict
            return (verdict?.runningTenths ?? 0) + (verdict?.waitingTenths ?? 0) >= 800
        }

        private func expectFrames(_ report: Report, _ hang: Hang) {
            let main = report.body.threads[report.body.faultingThread]
            #expect(main.id == report.body.pid, "the first thread is to blame")
            let names = main.frames.compactMap(\.symbol)
            var rest = names[...]
            for function in hang.functions {
                let index = rest.firstIndex { $0.contains(function) }
                #expect(index != nil, "\(function) is missing or out of order in \(names)")
                if let index { rest = rest[(index + 1)...] }
            }
            if let thread = hang.thread {
                #expect(report.body.threads.contains { $0.name == thread })
            }
        }
    }
}

/// Checks that nobody is killed before the allowance is over, including its extensions.
func expectPatience(_ report: Report, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let allowance = report.body.linux?.allowance else {
        Issue.record("a report without an allowance", sourceLocation: sourceLocation)
        return
    }
    let due = allowance.nanoseconds + allowance.creditNanoseconds + allowance.extendedNanoseconds
    #expect(allowance.elapsedNanoseconds >= due, "killed before its time", sourceLocation: sourceLocation)
}
