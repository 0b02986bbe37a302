// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// What a run tells: lines while it lasts, the summary and the exit code at its end.
///
/// Isolation: the loop's thread.
final class RunSession {
    private let configuration: RunConfiguration
    private let kernel: LinuxKernel
    private let supervisor: Supervisor
    private let loop: EventLoop
    private let log: EventLog
    private let narration: Narration
    private var script: ScriptRunner?
    private var launch: RunSummary.Launch?
    private var reports: [Int: ReportOutcome] = [:]
    private var incidents: [Incident] = []
    private var outcome: Outcome?
    private var crashReport: String?
    /// An app can cause messages as fast as it likes.
    private var limiter = RateLimiter(capacity: 50, refillPerSecond: 10)
    /// Messages that were not written, because they were too many or nobody read standard error.
    private var unwritten = 0

    init(_ configuration: RunConfiguration, _ kernel: LinuxKernel, _ supervisor: Supervisor, _ loop: EventLoop) throws {
        self.configuration = configuration
        self.kernel = kernel
        self.supervisor = supervisor
        self.loop = loop
        log = kernel.host.log
        narration = Narration(name: configuration.spec.name.printable(limit: 64), verbosity: configuration.verbosity)
        supervisor.onNotice = { [unowned self] in noticed($0) }
        supervisor.onFinish = { [unowned self] in
            outcome = $0
            script?.ended($0)
            if let crash = supervisor.crash(in: $0) { kernel.reportCrash(crash) }
            concludeIfReported()
        }
        kernel.onReport = { [unowned self] in reported($0, $1) }
        kernel.onHangReport = { [unowned self] in hangReported($0, $1) }
        kernel.onCrashReport = { [unowned self] in crashReported($0, $1) }
        script = try configuration.script.map {
            try ScriptRunner($0, scale: configuration.timeScale, name: narration.name, supervisor, loop) {
                [unowned self] in concludeIfReported()
            }
        }
    }

    /// Called when the app was launched.
    func begin() {
        script?.begin()
    }

    /// What `--verbose` tells before the launch.
    func describe() {
        guard configuration.verbosity == .verbose else { return }
        if let scheduling = kernel.host.scheduling { StandardError.say("scheduling: \(scheduling)") }
        let reason = kernel.cgroupRefusal ?? "unknown reason"
        StandardError.say(kernel.cgroup.map { "cgroup: \($0.path)" } ?? "no cgroup: \(reason)")
        StandardError.say("reports: \(kernel.configuration.store.directory)")
    }

    private func noticed(_ notice: Notice) {
        let line = narration.line(for: notice)
        if line != nil || log.hasJournal {
            let isTold =
                limiter.admit(at: kernel.now.nanoseconds)
                && log.tell(JournalEntry(notice, about: kernel.subject), line: line)
            if !isTold { unwritten += 1 }
        }
        script?.noticed(notice)
        switch notice {
        case .ready(let source, let after):
            kernel.noteWorkingDirectory()
            launched(by: source, after: after)
            if configuration.expectation == .ready { supervisor.requestTermination() }
        case .transgressed(let incident):
            incidents.append(incident)
        case .launched, .adopted, .channelLost, .hung, .starvationCredit, .overslept, .machineResumed, .paused,
            .resumed, .extended, .extensionRefused, .terminating, .captureTimedOut, .exited, .unkillable, .lifecycle,
            .probe:
            break
        }
    }

    private func reported(_ incident: Incident, _ report: ReportOutcome) {
        reports[incident.id] = report
        incidents = incidents.map { $0.id == incident.id ? incident : $0 }
        let lines = narration.lines(of: incident, pid: kernel.pid, report)
        // Where nothing is killed, the app lives on and has deadlines.
        let isTold = log.tell(
            JournalEntry(incident, report, about: kernel.subject),
            line: lines,
            within: incident.isEnforced ? .seconds(1) : .zero
        )
        if !isTold { unwritten += 1 }
        concludeIfReported()
    }

    private func hangReported(_ hang: Hang, _ report: ReportOutcome) {
        let lines = narration.lines(of: hang, pid: kernel.pid, report)
        if configuration.verbosity != .quiet, !StandardError.mention(lines) { unwritten += 1 }
        concludeIfReported()
    }

    private func crashReported(_ crash: Crash, _ report: ReportOutcome) {
        crashReport = report.path
        if !report.isVoid {
            let isTold = log.tell(
                JournalEntry(crash, report, about: kernel.subject),
                line: narration.lines(of: crash, pid: kernel.pid, report), within: .seconds(1))
            if !isTold { unwritten += 1 }
        }
        concludeIfReported()
    }

    /// A report takes a moment longer than the death of its app.
    private func concludeIfReported() {
        guard let outcome, kernel.pendingReports.isEmpty, script?.isOver != false else { return }
        loop.exit(code: conclude(outcome))
    }

    private func conclude(_ outcome: Outcome) -> Int32 {
        if unwritten > 0 {
            let text = "messages left out, because they were too many or nobody read them: \(unwritten)"
            log.tell(JournalEntry(.messagesDropped, text, about: kernel.subject), line: text, within: .seconds(1))
        }
        if outcome.cause == .exited, kernel.leftBehind > 0 {
            let text = "\(narration.name) \(narration.words(forLeaving: kernel.leftBehind))"
            var entry = JournalEntry(.leftBehind, text, about: kernel.subject)
            if let status = outcome.status { entry.add(status) }
            log.tell(entry, line: configuration.verbosity == .quiet ? nil : text, within: .seconds(1))
        }
        if let failure = supervisor.spawnFailure {
            let text = "\(failure)"
            log.tell(JournalEntry(.launchFailed, text, about: kernel.subject), line: text, within: .seconds(1))
        }
        let isMet = configuration.expectation?.isMet(
            by: outcome, incidents: incidents, wasReady: supervisor.machine.launchDuration != nil)
        if let expectation = configuration.expectation, isMet == false {
            StandardError.say("expected \(expectation), but \(narration.name) \(narration.words(for: outcome))")
        }
        if let failure = script?.failure { StandardError.say("the script failed: \(failure)") }
        var exitCode = isMet.map { $0 ? 0 : 1 } ?? exitCode(of: outcome)
        if let script, outcome.cause != .spawnFailed { exitCode = script.failure == nil && isMet != false ? 0 : 1 }
        drawLaunch()
        do {
            try write(summary(of: outcome, isMet: isMet, exitCode: exitCode))
        } catch {
            StandardError.say("the summary could not be written: \(error)")
            if exitCode == 0 { exitCode = RunError.cannotCreate("").exitCode }
        }
        return exitCode
    }

    private func exitCode(of outcome: Outcome) -> Int32 {
        switch outcome.cause {
        case .spawnFailed:
            guard let error = supervisor.spawnFailure as? SpawnError, error.stage == .execute else { return 125 }
            return error.shellCode
        case .watchdog:
            return 137
        case .exited, .terminated, .killedOnRequest:
            return outcome.status?.shellCode ?? 137
        }
    }

    // MARK: - Launch

    private func launched(by source: ReadinessSource, after duration: Duration) {
        var launch = RunSummary.Launch(milliseconds: duration.milliseconds, source: source.rawValue)
        launch.mainThreadBlockedPercent = kernel.mainThreadBlockedShare(of: duration).map { Int(($0 * 100).rounded()) }
        self.launch = launch
    }

    /// At the end: marks may come after the launch, and tell of it.
    private func drawLaunch() {
        guard configuration.showsLaunch || configuration.verbosity == .verbose, let launch,
            let duration = supervisor.machine.launchDuration, let launchedAt = supervisor.machine.launchedAt
        else { return }
        let picture = LaunchPicture(
            name: narration.name, launchedAt: launchedAt, ready: duration,
            limit: configuration.spec.lifecycle.launchesInBackground
                ? configuration.spec.lifecycle.backgroundLaunch : configuration.spec.allowances.launch,
            trace: supervisor.trace, blockedPercent: launch.mainThreadBlockedPercent, isUnicode: Locale.isUnicode)
        StandardError.show(picture.text)
    }

    private func withSignposts(_ launch: RunSummary.Launch) -> RunSummary.Launch {
        var launch = launch
        launch.add(supervisor.trace, launchedAt: supervisor.machine.launchedAt)
        return launch
    }

    // MARK: - Summary

    private func write(_ summary: RunSummary) throws {
        guard let target = configuration.summary else { return }
        let text = try summary.text()
        switch target {
        case .standardOutput: print(text, terminator: "")
        case .file(let path): try AtomicFile.write(Array(text.utf8), to: path)
        }
    }

    private func summary(of outcome: Outcome, isMet: Bool?, exitCode: Int32) -> RunSummary {
        let machine = supervisor.machine
        return RunSummary(
            app: configuration.spec.name,
            pid: kernel.pid,
            termination: outcome.cause.name,
            spawnError: supervisor.spawnFailure.map { "\($0)" },
            launch: launch.map(withSignposts),
            pings: RunSummary.Pings(machine.pings, strayAnswers: machine.strayAnswers),
            probes: machine.probes.count > 0 ? RunSummary.Pings(machine.probes, strayAnswers: 0) : nil,
            hangs: RunSummary.Hangs(
                count: machine.hangs.count,
                longestMilliseconds: machine.hangs.count > 0 ? machine.hangs.maximum.milliseconds : nil
            ),
            incidents: incidents.map { RunSummary.WatchdogReport($0, reports[$0.id]) },
            exit: RunSummary.Exit(outcome.status),
            isDeathVerified: outcome.isDeathVerified,
            resourceUsage: kernel.exitUsage.map { RunSummary.ResourceUsage($0) },
            report: crashReport ?? incidents.last.flatMap { reports[$0.id]?.path },
            status: supervisor.account.status,
            summary: supervisor.account.summary,
            expectation: isMet.flatMap { isMet in
                configuration.expectation.map { RunSummary.ExpectationResult(expected: $0.description, isMet: isMet) }
            },
            script: configuration.script.map { RunSummary.Script(path: $0.path, failure: script?.failure) },
            lifecycle: RunSummary.Lifecycle(machine.lifecycleRecord, launchedAt: machine.launchedAt),
            exitCode: exitCode
        )
    }
}

extension RunSummary.WatchdogReport {
    init(_ incident: Incident, _ report: ReportOutcome?) {
        self.init(
            code: incident.code.hexadecimal,
            event: incident.event.rawValue,
            allowanceMilliseconds: incident.allowance.milliseconds,
            creditMilliseconds: incident.credit.milliseconds,
            isEnforced: incident.isEnforced,
            isDeathVerified: incident.isDeathVerified,
            verdict: report?.verdict.line,
            verdictKind: report?.verdict.kind.rawValue,
            report: report?.path,
            reportError: report?.failure
        )
    }
}

extension RunSummary.ResourceUsage {
    init(_ usage: ResourceUsage) {
        self.init(
            userMilliseconds: usage.userTime.milliseconds,
            systemMilliseconds: usage.systemTime.milliseconds,
            maximumResidentKilobytes: Int(usage.maximumResidentBytes / 1024),
            minorFaults: Int(usage.minorFaults),
            majorFaults: Int(usage.majorFaults),
            voluntarySwitches: Int(usage.voluntarySwitches),
            involuntarySwitches: Int(usage.involuntarySwitches)
        )
    }
}
