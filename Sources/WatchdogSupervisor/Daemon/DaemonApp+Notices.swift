// SPDX-License-Identifier: Apache-2.0

import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension DaemonApp {
    func noticed(_ notice: Notice, of launch: AppLaunch) {
        launch.note(notice)
        switch notice {
        // The allowance of the reload was.
        case .extensionRefused(.nothingToExtend) where reload != nil: return
        case .launched(let pid):
            answerLaunch(pid: pid) { !$0.waits }
            expectWord(of: launch)
        case .ready:
            restarts.ready(at: daemon.host.loop.now)
            launch.kernel.noteWorkingDirectory()
            answerLaunch(pid: launch.pid) { _ in true }
        case .adopted, .channelLost, .hung, .starvationCredit, .overslept, .machineResumed, .paused, .resumed,
            .extended, .extensionRefused, .terminating, .transgressed, .captureTimedOut, .exited, .unkillable,
            .probe:
            break
        case .lifecycle(let notice):
            moved(notice, of: launch)
        }
        daemon.publish(notice, of: self, launch.kernel.subject)
    }

    /// An app that may say that it is ready, and says nothing, is not waited for, and ends as one that was launched.
    private func expectWord(of launch: AppLaunch) {
        guard launch.supervisor.machine.spec.readiness == .automatic else { return }
        whenLive(at: daemon.host.loop.now + Self.silence) { [unowned self, weak launch] in
            guard let launch, current === launch, launch.supervisor.machine.phase == .launching,
                !launch.supervisor.machine.hasSpoken
            else { return }
            restarts.ready(at: daemon.host.loop.now)
            answerLaunch(pid: launch.pid) { _ in true }
        }
    }

    private func answerLaunch(pid: Int32?, _ isMeant: (LaunchWaiter) -> Bool) {
        let meant = launchWaiters.filter(isMeant)
        launchWaiters.removeAll(where: isMeant)
        for waiter in meant { waiter.answer.succeed(LaunchReply(pid: pid)) }
    }

    func hangReported(_ hang: Hang, _ report: ReportOutcome, of launch: AppLaunch) {
        lastIncident = IncidentSummary(
            kind: .hang, time: .now(), summary: "hung: the main loop did not answer for \(hang.duration.brief)",
            event: hang.event.rawValue, verdict: report.verdict.line, report: report.path)
        daemon.publish(hang, report, of: self, launch.kernel.subject)
    }

    func crashReported(_ crash: Crash, _ report: ReportOutcome, of launch: AppLaunch) {
        guard !report.isVoid else { return }
        // A later incident may have come between, of a launch that followed at once.
        if lastIncident.map({ [.crash, .exit].contains($0.kind) }) ?? true {
            let isExit = if case .exited = crash.status { true } else { false }
            lastIncident = IncidentSummary(
                kind: isExit ? .exit : .crash, time: .now(), summary: crash.status.words,
                verdict: report.verdict.line, report: report.path)
        }
        daemon.publish(crash, report, of: self, launch.kernel.subject)
    }

    func reported(_ incident: Incident, _ report: ReportOutcome, of launch: AppLaunch) {
        let narration = Narration(name: name, verbosity: .quiet)
        let what = narration.exhausted(by: incident)
        lastIncident = IncidentSummary(
            kind: .watchdog,
            time: .now(),
            summary: (incident.isEnforced ? "killed: " : "reported: ") + what,
            event: incident.event.rawValue,
            verdict: report.verdict.line,
            report: report.path
        )
        daemon.publish(incident, report, of: self, launch.kernel.subject)
    }
}
