// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogConversation
import WatchdogDaemon
import WatchdogHistory
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore
import WatchdogVerdict

/// Executes the effects of the ``AppMachine`` of a program in the foreground, and reports: messages during the run,
/// then the summary and the exit code.
///
/// Isolation: the loop's thread.
final class RunSession {
    /// The lane of ``BlockingWork``; a run has only one app.
    private static let lane = 0

    private let configuration: RunConfiguration
    private let shell: LaunchShell
    private let supervisor: Supervisor
    private let launch: AppLaunch
    private let driver: AppDriver
    private let meter: RunMeter
    private var preparation: Preparation?
    private let loop: EventLoop
    private let log: EventLog
    private let narration: Narration
    /// Stores the launch; nil without history.
    private let history: LaunchHistory?
    private var script: ScriptRunner?
    private var remote: RemoteControl?
    private var faults: FaultInjector?
    private var finishTrace: ((_ exitCode: Int32) -> Int32)?
    private let expectations: RunExpectations
    /// Terminates the program when all expectations are decided, or when the run time is over.
    private var end: Timer?
    private var readiness: RunSummary.Launch?
    private var reports: [Int: ReportOutcome] = [:]
    private var incidents: [Incident] = []
    private var outcome: Outcome?
    private var endedAt: Instant?
    private var isConcluded = false
    private var names: NamesWait?
    private var crashReport: ReportOutcome?
    private let terminationMessage: TerminationMessageFile?
    private let notifier: RunNotifier?
    /// Rate limit of messages, because an app can cause any number of them.
    private var limiter = TokenBucket(capacity: 50, perSecond: 10)
    /// Messages that were dropped by the rate limit, or because standard error was blocked.
    private var unwritten = 0 { didSet { meter.droppedLines = unwritten } }

    init(
        _ configuration: RunConfiguration, _ launch: AppLaunch, _ meter: RunMeter, _ limits: FaultLimits,
        _ surroundings: FaultSurroundings, _ loop: EventLoop
    ) throws {
        self.configuration = configuration
        self.launch = launch
        self.meter = meter
        (shell, supervisor) = (launch.shell, launch.supervisor)
        self.loop = loop
        log = shell.host.log
        launch.notes.cause = "run"
        notifier = RunNotifier.connect(hearing: supervisor, on: loop)
        terminationMessage = configuration.terminationMessage.flatMap { TerminationMessageFile($0) }
        history = try configuration.history.map { settings throws(LinuxError) in
            try LaunchHistory(settings, on: launch.shell.host, tell: { $0.mention() })
        }
        expectations = RunExpectations(configuration.expectations)
        narration = Narration(name: configuration.spec.name.singleLine(limit: 64), verbosity: configuration.verbosity)
        var restart = RestartSettings()
        restart.policy = .never
        driver = AppDriver(AppMachine(.enabled, restart: Shared(wrappedValue: restart), seed: 0), on: loop)
        driver.perform = { [unowned self] in perform($0) }
        driver.onHandled = { [unowned self] in concludeIfReported() }
        supervisor.onNotice = { [unowned self] in noticed($0) }
        supervisor.onFinish = { [unowned self] in ended($0) }
        shell.incidents.onReport = { [unowned self] in reported($0, $1) }
        shell.incidents.onHangReport = { [unowned self] in hangReported($0, $1) }
        shell.incidents.onCrashReport = { [unowned self] in crashReported($0, $1) }
        shell.host.hooks.onIdle = { [unowned self] in concludeIfReported() }
        shell.host.onNamed = { [unowned self] in named($0) }
        names = try NamesWait(on: shell.host) { [unowned self] in concludeIfReported() }
        end = try launch.shell.host.timer { [unowned self] _ in supervisor.requestTermination() }
        faults = try FaultInjector(
            configuration.faults, limits, surroundings, shell, isQuiet: configuration.verbosity == .quiet)
        finishTrace = try configuration.trace?.begin(supervisor, shell)
        remote = try configuration.remote.map { try RemoteControl($0, supervisor, on: loop) }
        if let refusal = shell.cgroupRefusal { remote?.tell(.limited(reason: "no cgroup: \(refusal)")) }
        script = try configuration.script.map {
            try ScriptRunner($0, scale: configuration.timeScale, name: narration.name, supervisor, loop) {
                [unowned self] in concludeIfReported()
            }
        }
        faults?.serve(remote, script)
    }

    // MARK: - Execution

    /// Starts the launch.
    func begin() { driver.receive(.begun) }

    private func perform(_ effect: AppEffect) {
        switch effect {
        case .create:
            let hasPreparations = configuration.app?.program.preparations.isEmpty == false
            driver.receive(.created(launch.id, hasPreparations: hasPreparations))
        case .prepare(let id):
            preparation = Preparation(configuration.app?.program.preparations ?? [], of: shell) {
                [unowned self] failure in
                driver.receive(failure.map { .preparationFailed(id, reason: $0) } ?? .prepared(id))
            }
            preparation?.begin()
        case .cancelPreparation: preparation?.cancel()
        case .start:
            supervisor.launch()
            let limits = [configuration.runTime, expectations.limit].compactMap(\.self)
            end?.arm(at: limits.min().map { shell.now + $0 })
            script?.begin()
        case .terminate: supervisor.requestTermination()
        case .release(let id): driver.receive(.released(id))
        case .publish(.launchFailed(let reason)) where outcome == nil:
            StandardError.say("\(configuration.spec.name) was not launched: \(reason)", as: .error)
            loop.exit(code: RunError.internalFailure("").exitCode)
        case .publish: break
        case .cancelCreation, .save, .saveSoon, .forget, .resume, .adopt, .killRemains, .inspect, .answer:
            break  // A run has no relaunch, no clients and no handover.
        }
    }

    private func ended(_ outcome: Outcome) {
        self.outcome = outcome
        endedAt = shell.now
        meter.ended(outcome)
        history?.ended(launch, outcome, isCausedByMemory: shell.mayHaveEndedForMemory)
        script?.ended(outcome)
        faults?.ended()
        if let crash = supervisor.crash(in: outcome) { launch.report(crash) }
        driver.receive(.ended(launch.id, .init(outcome, hasPendingReports: launch.hasPendingReports, reason: "")))
    }

    /// Ends the run once the report, which may finish after the app's death, is written.
    private func concludeIfReported() {
        let isOver = driver.machine.isAtRest && script?.isOver != false && !launch.hasHooks
        guard !isConcluded, isOver, let outcome, names?.isOver() != false else { return }
        isConcluded = true
        loop.exit(code: conclude(outcome))
    }

    private func named(_ report: NamedReport) {
        switch report.incident {
        case .judged(let id): reports[id]?.take(report)
        case .crash: crashReport?.take(report)
        case .hang, .request: break
        }
        concludeIfReported()
    }

    private func reportWritten(_ report: ReportOutcome, _ facts: HookFacts?) {
        meter.reported(report)
        shell.host.hooks.run(configuration.onIncident, orOf: configuration.app, for: facts)
        if !launch.hasPendingReports { driver.receive(.reported(launch.id)) }
    }

    // MARK: - Reporting

    private func noticed(_ notice: Notice) {
        meter.noticed(notice)
        let line = narration.line(for: notice)
        if line != nil || log.hasJournal {
            let isTold =
                limiter.admit(at: shell.now)
                && log.tell(JournalEntry(notice, about: shell.subject), line: line)
            if !isTold { unwritten += 1 }
        }
        script?.noticed(notice)
        faults?.noticed(notice)
        remote?.noticed(notice)
        history?.noticed(notice, of: launch, in: Self.lane)
        notifier?.noticed(notice)
        switch notice {
        case .ready(let source, let after):
            shell.noteWorkingDirectory()
            launched(by: source, after: after)
            HangAdvice(launch).say(in: narration, ready: source)
            endIfDecided()
        case .marked:
            endIfDecided()
        case .transgressed(let incident):
            incidents.append(incident)
        case .launched, .adopted, .channelLost, .slow, .hung, .starvationCredit, .overslept, .machineResumed, .paused,
            .resumed, .extended, .extensionRefused, .messageRefused, .terminating, .captureTimedOut, .exited,
            .unkillable, .lifecycle, .probe:
            break
        }
    }

    private func reported(_ incident: Incident, _ report: ReportOutcome) {
        reports[incident.id] = report.withoutData
        remote?.tell(.incident(RemoteIncident(incident, report)))
        incidents = incidents.map { $0.id == incident.id ? incident : $0 }
        let lines = narration.lines(of: incident, pid: shell.pid, report)
        // Without enforcement, the app continues, and the loop must not block: its deadlines are still running.
        let patience: Duration = incident.isEnforced ? .seconds(1) : .zero
        let isTold = log.tell(entry(incident, report), line: lines, within: patience)
        if !isTold { unwritten += 1 }
        reportWritten(report, HookFacts(incident, report, of: configuration.spec.name))
    }

    private func entry(_ event: some ReportedEvent, _ report: ReportOutcome) -> JournalEntry {
        JournalEntry(event, report, about: shell.subject, carriesReport: configuration.reportsInJournal)
    }

    private func hangReported(_ hang: Hang, _ report: ReportOutcome) {
        let lines = narration.lines(of: hang, pid: shell.pid, report)
        let line = configuration.verbosity == .quiet ? nil : lines
        if !log.tell(entry(hang, report), line: line, within: .zero) { unwritten += 1 }
        reportWritten(report, HookFacts(hang, report, of: configuration.spec.name))
    }

    private func crashReported(_ crash: Crash, _ report: ReportOutcome) {
        crashReport = report.withoutData
        if !report.isVoid {
            let isTold = log.tell(
                entry(crash, report),
                line: narration.lines(of: crash, pid: shell.pid, report), within: .seconds(1))
            if !isTold { unwritten += 1 }
        }
        reportWritten(report, HookFacts(crash, report, of: configuration.spec.name))
    }

    private func conclude(_ outcome: Outcome) -> Int32 {
        if unwritten > 0 {
            let text = "messages dropped because there were too many or nothing read them: \(unwritten)"
            log.tell(JournalEntry(.messagesDropped, text, about: shell.subject), line: text, within: .seconds(1))
        }
        if outcome.cause == .exited, shell.leftBehind > 0 {
            let text = "\(narration.name) \(narration.words(forLeaving: shell.leftBehind))"
            var entry = JournalEntry(.leftBehind, text, about: shell.subject)
            if let status = outcome.status { entry.add(status) }
            log.tell(entry, line: configuration.verbosity == .quiet ? nil : text, within: .seconds(1))
        }
        if let failure = supervisor.spawnFailure {
            let text = "\(failure)"
            log.tell(JournalEntry(.launchFailed, text, about: shell.subject), line: text, within: .seconds(1))
        }
        let needsReport = expectations.needReport || !configuration.resultFiles.isEmpty
        let crash = needsReport ? ReportedStack(lastReport, in: shell.configuration.store) : nil
        let facts = facts(outcome, crash)
        let results = expectations.results(of: facts)
        let isMet = results.isEmpty ? nil : results.allSatisfy(\.judgement.isMet)
        for result in results where !result.judgement.isMet {
            StandardError.say("expected \(result.expectation), but \(result.judgement.actual)", as: .error)
        }
        if let failure = script?.failure { StandardError.say("the script failed: \(failure)", as: .error) }
        var exitCode = isMet.map { $0 ? 0 : 1 } ?? outcome.exitCode(ofFailure: supervisor.spawnFailure)
        if let script, outcome.cause != .spawnFailed { exitCode = script.failure == nil && isMet != false ? 0 : 1 }
        history?.stop()
        exitCode = finishTrace?(exitCode) ?? exitCode
        tellEnd(outcome, in: facts.end)
        drawLaunch()
        terminationMessage?.write(terminationText(outcome))
        let summary = summary(of: outcome, results, exitCode: exitCode)
        let suite = TestSuite(
            run: narration.name, results: results, script: script?.record, exit: exitCode, end: facts.end,
            duration: supervisor.machine.launchedAt.map { (endedAt ?? shell.now) - $0 } ?? .zero,
            report: crash)
        exitCode = completed(exitCode) { () throws(RunError) in try summary.write(to: configuration.summary) }
        exitCode = completed(exitCode) { () throws(RunError) in try configuration.resultFiles.write(suite) }
        return exitCode
    }

    /// Writes a file and returns the exit code; if writing fails, prints the error and replaces 0.
    private func completed(_ exitCode: Int32, _ write: () throws(RunError) -> Void) -> Int32 {
        do throws(RunError) {
            try write()
            return exitCode
        } catch {
            StandardError.say(error.description)
            return exitCode == 0 ? error.exitCode : exitCode
        }
    }

    private func tellEnd(_ outcome: Outcome, in words: String) {
        var end = RemoteEnd(
            cause: outcome.cause.name, code: nil, signal: nil, words: words,
            longestAnswerUSec: answers.longest?.wholeMicroseconds,
            report: crashReport?.path, isDeathVerified: outcome.isDeathVerified)
        switch outcome.status {
        case .exited(let code): end.code = code
        case .signaled(let signal, _): end.signal = Int32(signal)
        case .unknown, nil: break
        }
        if let failure = supervisor.spawnFailure { end.words = "\(failure)" }
        remote?.tell(.ended(end))
        remote?.finish()
    }

    private var lastReport: ReportOutcome? {
        [crashReport, incidents.last.flatMap { reports[$0.id] }].compactMap(\.self)
            .first { $0.path != nil || $0.printed != nil }
    }

    /// The cause of a kill, a crash or a failed start; nil otherwise.
    private func terminationText(_ outcome: Outcome) -> String? {
        switch (outcome.cause, outcome.status) {
        case (.watchdog(let incident), _):
            return narration.terminationMessage(of: incident, pid: shell.pid, reports[incident.id])
        case (.spawnFailed, _):
            let reason = supervisor.spawnFailure.map { "\($0)" } ?? "unknown reason"
            return TerminationMessage.text("\(narration.name) was not started: \(reason)", nil, report: nil)
        case (_, .signaled):
            let headline = "\(narration.name)[\(shell.pid ?? 0)] \(narration.words(for: outcome))"
            return TerminationMessage.text(headline, crashReport?.explanation, report: crashReport?.path)
        default: return nil
        }
    }

    private var moments: [Expectation.Moment: Duration] {
        RunExpectations.moments(
            launchedAt: supervisor.machine.launchedAt, ready: supervisor.machine.launchDuration, trace: supervisor.trace
        )
    }

    private func endIfDecided() {
        if expectations.areDecided(by: moments) { supervisor.requestTermination() }
    }

    private var answers: AnswerTimes { AnswerTimes(of: supervisor.machine, until: endedAt ?? shell.now) }

    private func facts(_ outcome: Outcome, _ crash: ReportedStack?) -> RunFacts {
        let machine = supervisor.machine
        return RunFacts(
            outcome: outcome, end: "\(narration.name) \(narration.words(for: outcome))", incidents: incidents,
            moments: moments, hangs: (machine.hangs.count, machine.hangs.maximum), answers: answers,
            verdict: incidents.last.flatMap { reports[$0.id]?.line }, frames: crash?.frames,
            wait: crash?.wait)
    }

    // MARK: - Launch

    private func launched(by source: ReadinessSource, after duration: Duration) {
        var launch = RunSummary.Launch(milliseconds: duration.milliseconds, source: source.rawValue)
        launch.mainThreadBlockedPercent = shell.mainThreadBlockedShare(of: duration).map { Int(($0 * 100).rounded()) }
        readiness = launch
    }

    /// Draws the launch at the end of the run, because marks may arrive after the launch.
    private func drawLaunch() {
        guard configuration.showsLaunch || configuration.verbosity == .verbose,
            let launchedAt = supervisor.machine.launchedAt,
            let (end, duration) = launchEnd(since: launchedAt)
        else { return }
        let picture = LaunchPicture(
            name: narration.name, launchedAt: launchedAt, end, after: duration,
            limit: configuration.spec.lifecycle.launchesInBackground
                ? configuration.spec.lifecycle.backgroundLaunch : configuration.spec.allowances.launch,
            trace: supervisor.record.trace, blockedPercent: readiness?.mainThreadBlockedPercent,
            isUnicode: Locale.isUnicode)
        StandardError.show(picture.text)
    }

    /// The end of the launch and its time; nil for a process that never ran.
    private func launchEnd(since launchedAt: Instant) -> (LaunchPicture.End, Duration)? {
        if let duration = supervisor.machine.launchDuration { return (.ready, duration) }
        if case .watchdog(let incident) = outcome?.cause { return (.killed, incident.decidedAt - launchedAt) }
        return endedAt.map { (.ended, $0 - launchedAt) }
    }

    // MARK: - Summary

    private func summary(
        of outcome: Outcome, _ results: [RunExpectations.Result], exitCode: Int32
    ) -> RunSummary {
        let machine = supervisor.machine
        let expectations = results.map {
            RunSummary.ExpectationResult(
                expected: $0.expectation.description, isMet: $0.judgement.isMet, actual: $0.judgement.actual)
        }
        return RunSummary(
            app: configuration.spec.name,
            pid: shell.pid,
            termination: outcome.cause.name,
            spawnError: supervisor.spawnFailure.map { "\($0)" },
            launch: readiness?.adding(supervisor.trace, launchedAt: machine.launchedAt, ready: machine.launchDuration),
            unfinishedLaunch: machine.launchedAt.flatMap { launchedAt in
                launchEnd(since: launchedAt).flatMap { .init(supervisor.trace, launchedAt: launchedAt, $0, after: $1) }
            },
            pings: RunSummary.Pings(machine.pings, strayAnswers: machine.strayAnswers),
            probes: machine.probes.count > 0 ? RunSummary.Pings(machine.probes, strayAnswers: 0) : nil,
            hangs: RunSummary.Hangs(
                count: machine.hangs.count,
                longestMilliseconds: machine.hangs.count > 0 ? machine.hangs.maximum.milliseconds : nil
            ),
            incidents: incidents.map { RunSummary.WatchdogReport($0, reports[$0.id]) },
            exit: RunSummary.Exit(outcome.status),
            isDeathVerified: outcome.isDeathVerified,
            resourceUsage: shell.exitUsage.map { RunSummary.ResourceUsage($0) },
            report: lastReport?.path,
            status: supervisor.account.status,
            summary: supervisor.account.summary,
            expectation: expectations.isEmpty
                ? nil
                : RunSummary.ExpectationResult(
                    expected: expectations.map(\.expected).joined(separator: ", "),
                    isMet: expectations.allSatisfy(\.isMet)),
            expectations: expectations.isEmpty ? nil : expectations,
            script: configuration.script.map { RunSummary.Script(path: $0.path, failure: script?.failure) },
            faults: faults?.summary(launchedAt: machine.launchedAt),
            lifecycle: RunSummary.Lifecycle(machine.lifecycleRecord, launchedAt: machine.launchedAt),
            exitCode: exitCode
        )
    }
}

extension RunSummary {
    fileprivate func write(to target: RunConfiguration.SummaryTarget?) throws(RunError) {
        guard let target else { return }
        let text: String
        do {
            text = try self.text()
        } catch {
            throw .cannotCreate("--json: \(error)")
        }
        switch target {
        case .standardOutput: print(text, terminator: "")
        case .file(let path): try AtomicFile.write(text, to: path, of: "--json")
        }
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
            verdict: report?.line,
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
