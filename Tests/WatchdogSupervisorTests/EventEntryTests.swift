// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogPolicy
@testable import WatchdogRun

@Suite("Journal entries about events")
struct EventEntryTests {
    private let subject = EventSubject(app: "App", pid: 42, launch: "L")

    private func fields(_ entry: JournalEntry?) -> [String: String] {
        let pairs = entry?.fields.map { ($0.name, String(decoding: $0.value, as: UTF8.self)) } ?? []
        return Dictionary(pairs) { first, second in "\(first), \(second)" }
    }

    /// An app that hangs and is killed, or only reported.
    private func hang(_ enforcement: AppSpec.Enforcement) throws -> (notices: [Notice], incident: Incident) {
        let kernel = ScriptedEffects()
        let supervisor = kernel.supervise(AppSpec(name: "App", enforcement: enforcement))
        supervisor.launch()
        kernel.say("HELLO=1\n")
        kernel.say("READY=1\n")
        kernel.run(for: .seconds(30))
        let incident = kernel.notices.compactMap { if case .transgressed(let incident) = $0 { incident } else { nil } }
        return (kernel.notices, try #require(incident.first))
    }

    @Test("a line beside the app's name does not repeat it")
    func withoutName() {
        let narration = Narration(name: "py", verbosity: .verbose)
        let missed = MissedProbes(target: "exec:false", count: 1, last: .noAnswer, lastDuration: .seconds(3))
        let lines = [Notice.probe(.failed(missed)), .captureTimedOut, .exited(.exited(code: 0))]
            .compactMap { narration.line(for: $0) }.map(narration.withoutName)
        #expect(
            lines == [
                "a probe of exec:false failed after 3.00 s: no answer",
                "the stacks of py could not be captured in time; killed without them", "exited with code 0",
            ])
    }

    @Test("a program that is ready before its launch is recorded is ready at once, not after zero time")
    func readyAtOnce() {
        let narration = Narration(name: "py", verbosity: .verbose)
        #expect(narration.line(for: .ready(.notify, after: .zero)) == "py ready at once (notify)")
        #expect(narration.line(for: .ready(.notify, after: .microseconds(1))) == "py ready after 1 µs (notify)")
    }

    @Test(
        "an event names the failed probes once, and then the consequence",
        arguments: [AppSpec.Enforcement.kill, .report])
    func probes(enforcement: AppSpec.Enforcement) throws {
        let narration = Narration(name: "App", verbosity: .verbose)
        let hang = try hang(enforcement).incident
        #expect(narration.announcement(of: hang) == "did not answer within 10 s")
        let missed = MissedProbes(target: "tcp:1", count: 3, last: .noAnswer, lastDuration: .seconds(1))
        let incident = Incident(
            id: 1, event: hang.event, cause: .probesFailed(missed), allowance: hang.allowance,
            startedAt: hang.startedAt,
            windowStart: hang.windowStart, deadline: hang.deadline, decidedAt: hang.decidedAt, credit: .zero,
            extended: .zero, paused: .zero, rebases: 0, evidence: nil, visibility: .foreground, isSuspended: false,
            isEnforced: hang.isEnforced)
        let next = enforcement == .kill ? ", then killing it" : ""
        let words = "3 failed probes in a row are enough: capturing its stacks\(next)"
        #expect(narration.announcement(of: incident) == words)
        #expect(narration.reason(of: incident) == "\(missed)")
    }

    @Test("a kill has its message id, priority, verdict and report")
    func kill() throws {
        let incident = try hang(.kill).incident
        let verdict = Verdict(judging: HangEvidence(processorCount: 2))
        let entry = JournalEntry(
            incident, ReportOutcome(verdict: verdict, path: "/r/App.ips"), about: subject, mayNameObject: true)
        #expect(
            fields(entry) == [
                "MESSAGE":
                    "App[42] killed: did not answer within 10 s (0x8badf00d)\n  \(verdict.line)\n  /r/App.ips",
                "MESSAGE_ID": "625be8b805824436a7005458c4889c7e",
                "PRIORITY": "3",
                "SYSLOG_IDENTIFIER": "watchdogd",
                "WATCHDOGD_KIND": "killed",
                "WATCHDOGD_APP": "App",
                "WATCHDOGD_PID": "42",
                "WATCHDOGD_LAUNCH_ID": "L",
                "WATCHDOGD_EVENT": "scene-update",
                "WATCHDOGD_CODE": "0x8badf00d",
                "WATCHDOGD_ALLOWANCE_USEC": "10000000",
                "WATCHDOGD_VERDICT": verdict.line,
                "WATCHDOGD_VERDICT_KIND": verdict.kind.rawValue,
                "WATCHDOGD_REPORT": "/r/App.ips",
            ])
    }

    @Test(
        "an unexpected exit is reported once, with its verdict",
        arguments: [
            (
                .exited(code: 1), .failed, "Exited unexpectedly with code 1", "exited unexpectedly with code 1",
                "was not asked to exit"
            ),
            (
                .exited(code: 139), .failed, "Exited unexpectedly with code 139, as if SIGSEGV had ended it",
                "exited unexpectedly with code 139, as if SIGSEGV had ended it",
                "was not asked to exit, as if SIGSEGV had ended it"
            ),
            (
                .signaled(signal: 11, coreDumped: true), .crashed, "Crashed: SIGSEGV at 0x4 in parse",
                "crashed: SIGSEGV at 0x4 in parse (core dumped)", "Crashed: SIGSEGV at 0x4 in parse"
            ),
            (
                .signaled(signal: 9, coreDumped: false), .killed, "Killed by SIGKILL, which watchdogd did not send",
                "killed by SIGKILL, which watchdogd did not send", "Killed by SIGKILL, which watchdogd did not send"
            ),
            (
                .unknown, .unknown, "Ended; exit status unknown", "ended; exit status unknown",
                "Ended; exit status unknown"
            ),
        ] as [(WatchdogBase.ExitStatus, Verdict.Kind, String, String, String)])
    func crash(
        status: WatchdogBase.ExitStatus, kind: Verdict.Kind, verdict: String, told: String, announced: String
    ) throws {
        let outcome = Outcome(cause: .exited, status: status, isDeathVerified: true)
        let crash = try #require(Crash(outcome, reporting: .all))
        let report = ReportOutcome(verdict: Verdict(kind: kind, line: verdict, brief: ""), path: "/r/App.ips")
        let narration = Narration(name: "App", verbosity: .normal)
        #expect(narration.lines(of: crash, pid: 42, report) == "App[42] \(told)\n  /r/App.ips")
        // Subscribers to the events already received the status of the exit.
        #expect(crash.announcement(of: report) == announced)
    }

    @Test("a report of up to 1 MiB is attached unchanged; a larger one is replaced by its size", arguments: [-1, 0, 1])
    func data(excess: Int) throws {
        let incident = try hang(.kill).incident
        var outcome = ReportOutcome(verdict: Verdict(judging: HangEvidence(processorCount: 2)), path: "/r/App.ips")
        let file = [UInt8](repeating: 0xff, count: (1 << 20) + excess)
        outcome.data = ReportData(file)
        let entry = JournalEntry(incident, outcome, about: subject)
        #expect(fields(entry)["WATCHDOGD_REPORT"] == "/r/App.ips")
        if excess > 0 {
            #expect(entry.attachment == nil)
            #expect(fields(entry)["WATCHDOGD_REPORT_OMITTED"] == "1048577 bytes, more than 1048576")
        } else {
            #expect(entry.attachment?.field.name == "WATCHDOGD_REPORT_DATA")
            #expect(entry.attachment?.field.value == file)
            #expect(fields(entry)["WATCHDOGD_REPORT_OMITTED"] == nil)
        }
    }

    @Test("a report is attached only on request, and never to a line on standard error")
    func withoutData() throws {
        let incident = try hang(.kill).incident
        var outcome = ReportOutcome(verdict: Verdict(judging: HangEvidence(processorCount: 2)), path: "/r/App.ips")
        outcome.data = ReportData(Array("the report".utf8))
        #expect(JournalEntry(incident, outcome, about: subject, carriesReport: false).attachment == nil)
        let entry = JournalEntry(incident, outcome, about: subject)
        let line = String(decoding: JSONLogLine(entry, app: nil).bytes, as: UTF8.self)
        #expect(!line.contains("the report") && !line.contains("DATA"))
        #expect(outcome.withoutData.data == nil)
    }

    @Test("readers of reports in the journal know the messages that announce them")
    func announcing() {
        for (kind, id) in ReportEntryField.messageIDs { #expect(EventKind(rawValue: kind)?.messageID == id) }
        #expect(ReportEntryField.messageIDs.count == 4)
    }

    @Test("an incident that is only reported has a message of its own, about a living process")
    func reported() throws {
        let incident = try hang(.report).incident
        let outcome = ReportOutcome(verdict: Verdict(judging: HangEvidence(processorCount: 2)), failure: "disk full")
        let entry = fields(JournalEntry(incident, outcome, about: subject, mayNameObject: true))
        #expect(entry["MESSAGE_ID"] == EventKind.reported.messageID)
        #expect(entry["OBJECT_PID"] == "42")
        #expect(entry["WATCHDOGD_REPORT"] == nil)
        #expect(entry["MESSAGE"]?.hasSuffix("no report could be written: disk full") == true)
    }

    @Test("the journal records a whole life in order, each event once, in the words of standard error")
    func life() throws {
        let notices = try hang(.kill).notices
        let entries = notices.compactMap { JournalEntry($0, about: subject, mayNameObject: true) }.map { fields($0) }
        #expect(entries.map { $0["WATCHDOGD_KIND"] } == ["launched", "ready", "exited"])
        let narration = Narration(name: "App", verbosity: .verbose)
        #expect(entries.map { $0["MESSAGE"] } == notices.compactMap { narration.line(for: $0) })
        #expect(entries[0]["OBJECT_PID"] == "42")
        #expect(entries[1]["WATCHDOGD_SOURCE"] == "channel")
        #expect(entries[1]["WATCHDOGD_DURATION_USEC"] == "0")
        // The process is reaped, so its id may belong to another one.
        #expect(entries[2]["OBJECT_PID"] == nil)
        #expect(entries[2]["EXIT_CODE"] == "killed")
        #expect(entries[2]["EXIT_STATUS"] == "9")
    }

    @Test(
        "each notice has its own fields",
        arguments: [
            (
                .starvationCredit(.milliseconds(1_500), event: .sceneUpdate),
                ["WATCHDOGD_EVENT": "scene-update", "WATCHDOGD_DURATION_USEC": "1500000", "PRIORITY": "5"]
            ),
            (
                .overslept(by: .seconds(2), event: .processExit),
                ["WATCHDOGD_EVENT": "process-exit", "WATCHDOGD_DURATION_USEC": "2000000", "PRIORITY": "4"]
            ),
            (.hung(for: .milliseconds(300)), ["WATCHDOGD_DURATION_USEC": "300000", "PRIORITY": "4"]),
            (.paused(.traced(by: 7)), ["WATCHDOGD_TRACER_PID": "7", "OBJECT_PID": "42"]),
            (.unkillable, ["PRIORITY": "2", "MESSAGE_ID": "5b876105e9d046289b68e84d4204195d"]),
            (.exited(.exited(code: 3)), ["EXIT_CODE": "exited", "EXIT_STATUS": "3"]),
            (.exited(.signaled(signal: 11, coreDumped: true)), ["EXIT_CODE": "dumped", "EXIT_STATUS": "11"]),
            (.launched(pid: 42), ["MESSAGE": "App launched, pid 42", "PRIORITY": "6"]),
            (
                .probe(
                    .failed(
                        MissedProbes(target: "tcp:1", count: 2, last: .noAnswer, lastDuration: .milliseconds(1_500)))),
                [
                    "WATCHDOGD_KIND": "probeFailed", "WATCHDOGD_PROBE": "tcp:1", "WATCHDOGD_FAILURES": "2",
                    "WATCHDOGD_DURATION_USEC": "1500000", "PRIORITY": "4",
                ]
            ),
            (
                .probe(.recovered(failures: 2)),
                ["WATCHDOGD_KIND": "probeRecovered", "WATCHDOGD_FAILURES": "2", "PRIORITY": "5"]
            ),
            (.probe(.impossible("no shell")), ["WATCHDOGD_KIND": "probeImpossible", "PRIORITY": "4"]),
        ] as [(Notice, [String: String])]
    )
    func notices(notice: Notice, expected: [String: String]) {
        let entry = fields(JournalEntry(notice, about: subject, mayNameObject: true))
        for (name, value) in expected { #expect(entry[name] == value) }
    }

    @Test("only root may name the object, and an app's text cannot add a field or move a cursor")
    func hostileNames() {
        let subject = EventSubject(app: "A\nPRIORITY=0\u{1b}[31m", pid: 42)
        let entry = JournalEntry(.launched(pid: 42), about: subject, mayNameObject: false)
        #expect(entry?["OBJECT_PID"] == nil)
        #expect(entry?["PRIORITY"] == "6")
        #expect(entry?.bytes.contains(0x1b) == false)
        #expect(entry?["WATCHDOGD_APP"]?.contains("\n") == false)
        #expect(entry?["MESSAGE"]?.contains("\n") == false)
    }

    @Test("an event of watchdogd itself names no app")
    func ownEvents() {
        let entry = fields(JournalEntry(.reloaded, "configuration read: 3 apps"))
        #expect(entry["WATCHDOGD_APP"] == nil)
        #expect(entry["MESSAGE"] == "configuration read: 3 apps")
        #expect(entry["MESSAGE_ID"] == EventKind.reloaded.messageID)
    }
}
