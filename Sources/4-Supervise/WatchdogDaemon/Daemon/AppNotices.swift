// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogVerdict

/// Reports what happens to an app, and remembers its last incident and its last end.
///
/// Isolation: the loop's thread.
final class AppNotices {
    private let name: String
    private let announcer: Announcer
    private let lastFailure: LastFailureFile?
    private let loop: EventLoop
    @Boxed private(set) var lastIncident: IncidentSummary?
    private(set) var lastExit: String?
    /// Whether journal entries carry the app's reports.
    var reportsInJournal: Bool

    init(of name: String, by daemon: Daemon, resuming kept: KeptApp?) {
        self.name = name
        announcer = daemon.announcer
        lastFailure = daemon.lastFailure
        loop = daemon.host.loop
        reportsInJournal = daemon.reportsInJournal
        (lastIncident, lastExit) = (kept?.lastIncident, kept?.lastExit)
    }

    /// The current launch has ended.
    func ended(_ outcome: Outcome) {
        lastExit = outcome.status.map { $0.words + (outcome.cause == .terminated ? ", as asked" : "") }
    }

    /// The process was not started.
    func notStarted() { lastExit = "could not be started" }

    // MARK: - Reports

    func hangReported(_ hang: Hang, _ report: ReportOutcome, of launch: AppLaunch) {
        lastIncident = IncidentSummary(
            kind: .hang, time: .now(), summary: "hung: the main loop did not answer for \(hang.duration.brief)",
            event: hang.event.rawValue, verdict: report.line, report: report.path)
        announcer.publish(hang, report, of: name, launch.shell.subject, carriesReport: reportsInJournal)
    }

    func crashReported(_ crash: Crash, _ report: ReportOutcome, of launch: AppLaunch) {
        guard !report.isVoid else { return }
        // A launch that followed at once may have had an incident since.
        if lastIncident.map({ [.crash, .exit].contains($0.kind) }) ?? true {
            let isExit = if case .exited = crash.status { true } else { false }
            lastIncident = IncidentSummary(
                kind: isExit ? .exit : .crash, time: .now(), summary: crash.status.words,
                verdict: report.line, report: report.path)
        }
        announcer.publish(crash, report, of: name, launch.shell.subject, carriesReport: reportsInJournal)
        if case .signaled = crash.status { failed(crash.status.words, report, launch) }
    }

    func reported(_ incident: Incident, _ report: ReportOutcome, of launch: AppLaunch) {
        let what = Narration(name: name, verbosity: .quiet).reason(of: incident)
        lastIncident = IncidentSummary(
            kind: .watchdog, time: .now(), summary: (incident.isEnforced ? "killed: " : "reported: ") + what,
            event: incident.event.rawValue, verdict: report.line, report: report.path)
        announcer.publish(incident, report, of: name, launch.shell.subject, carriesReport: reportsInJournal)
        if incident.isEnforced {
            failed(incident.words(in: Narration(name: name, verbosity: .quiet)), report, launch)
        }
    }

    private func failed(_ words: String, _ report: ReportOutcome?, _ launch: AppLaunch) {
        lastFailure?.note("\(name)[\(launch.shell.pid ?? 0)] \(words)", report)
    }

    // MARK: - What the app's machine reports

    /// - Parameter find: the launch of an identifier.
    func publish(_ notice: AppNotice, find: (LaunchID) -> AppLaunch?) {
        switch notice {
        case .launchFailed(let reason):
            let message = "could not be started: \(reason)"
            announcer.publish(.launchFailed, of: name, message)
            lastFailure?.note("\(name) was not started: \(reason)")
            lastIncident = IncidentSummary(kind: .spawn, time: .now(), summary: message)
        case .exited(let id, let status): if let launch = find(id) { exited(launch, status) }
        case .decided(let decision, let outcome, let limit): decided(decision, outcome, limit)
        case .endedUnseen:
            lastExit = nil
            announcer.say("\(name) ended while no watchdogd ran")
        case .remainsGone: announcer.say("\(name): the processes that survived SIGKILL are gone")
        case .restartImpossible(let reason):
            let message = "cannot be restarted: \(reason)"
            lastIncident = IncidentSummary(kind: .spawn, time: .now(), summary: message)
            announcer.say("\(name) \(message)")
        }
    }

    private func exited(_ launch: AppLaunch, _ status: ExitStatus) {
        switch status {
        case .exited(code: 0):
            guard launch.shell.leftBehind > 0 else { return }
            let words = Narration(name: name, verbosity: .quiet).words(forLeaving: launch.shell.leftBehind)
            lastIncident = IncidentSummary(kind: .exit, time: .now(), summary: words)
            announcer.publish(.leftBehind, of: name, words, launch.shell.subject, status: status)
        case .exited: lastIncident = IncidentSummary(kind: .exit, time: .now(), summary: status.words)
        case .signaled:
            lastIncident = IncidentSummary(kind: .crash, time: .now(), summary: status.words)
            failed(status.words, nil, launch)
        case .unknown: break
        }
    }

    private func decided(_ decision: RestartDecision, _ outcome: Outcome, _ limit: RestartSettings.ReachedLimit?) {
        let now = loop.now
        switch decision {
        case .restart(let next, let cause):
            let delay = next - now
            announcer.publish(
                .restarting, of: name,
                "restarting " + (delay > .milliseconds(1) ? "in \(delay.brief)" : "at once") + " (\(cause.rawValue)): "
                    + Narration(name: name, verbosity: .quiet).words(for: outcome))
        case .limitReached(let cause, let next):
            let limit = limit.map { ": \(LimitSummary($0).words)" } ?? ""
            let consequence = next.map { "next attempt in \(($0 - now).brief)" }
            announcer.publish(
                .limitReached, of: name,
                "failed too often (\(cause.rawValue))\(limit); "
                    + (consequence ?? "it stays down until \"watchdogd launch \(name)\""))
        case .stay: break
        }
    }
}
