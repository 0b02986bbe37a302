// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension DaemonApp {
    func ended(_ launch: AppLaunch, _ outcome: Outcome) {
        guard current === launch else { return }
        abandonMoves()
        lastExit = outcome.status?.words
        // One that the watchdogd before this one owed is being written already.
        if launch.kernel.owedCrash == nil, let crash = launch.supervisor.crash(in: outcome) {
            launch.kernel.reportCrash(crash)
        }
        guard outcome.isDeathVerified else {
            stage = .unkillable(launch)
            for waiter in launchWaiters { waiter.answer.fail(.unkillable(name, pid: launch.pid)) }
            for answer in endWaiters { answer.fail(.unkillable(name, pid: launch.pid)) }
            (launchWaiters, endWaiters) = ([], [])
            lookAgain(at: launch, outcome)
            daemon.appCameToRest()
            return
        }
        settled.append(launch.kernel.configuration.launchID)
        // Before the launch's own state is given up.
        remember()
        let causedByMemory = launch.kernel.mayHaveEndedForMemory
        retire(launch)
        let reason = launch.supervisor.spawnFailure.map { "\($0)" } ?? outcome.status?.words ?? "it ended"
        if outcome.cause == .spawnFailed {
            noteLaunchFailure(reason)
        } else if case .exited = outcome.cause, let status = outcome.status, wish == .asConfigured {
            noteExit(status, of: launch)
        }
        settle(outcome, reason: reason, causedByMemory: causedByMemory)
    }

    /// An end that nobody asked for, and that the watchdog did not bring about.
    private func noteExit(_ status: ExitStatus, of launch: AppLaunch) {
        switch status {
        case .exited(code: 0):
            guard launch.kernel.leftBehind > 0 else { return }
            let words = Narration(name: name, verbosity: .quiet).words(forLeaving: launch.kernel.leftBehind)
            lastIncident = IncidentSummary(kind: .exit, time: .now(), summary: words)
            daemon.publish(.leftBehind, of: self, words, launch.kernel.subject, status: status)
        case .exited: lastIncident = IncidentSummary(kind: .exit, time: .now(), summary: status.words)
        case .signaled: lastIncident = IncidentSummary(kind: .crash, time: .now(), summary: status.words)
        case .unknown: break
        }
    }

    /// Decides what follows an end.
    func settle(_ outcome: Outcome, reason: String, causedByMemory: Bool = false) {
        for answer in endWaiters { answer.succeed(TerminateReply(isGone: true)) }
        endWaiters = []
        stage = .stopped
        let decision =
            wish == .asConfigured
            ? restarts.ended(outcome, causedByMemory: causedByMemory, at: daemon.host.loop.now) : nil
        if wish != .relaunch { answerLaunch(endedAs: outcome, decision, reason: reason) }
        switch wish {
        case .stop: daemon.appCameToRest()
        case .forget: daemon.forget(self)
        case .relaunch:
            restarts.reset()
            // Not at once: a launch that fails comes back here.
            wait(until: daemon.host.loop.now)
        case .asConfigured:
            if let decision { follow(decision, outcome) }
        }
    }

    /// One that ends well, and is to be left at that, was launched: it has done its work.
    private func answerLaunch(endedAs outcome: Outcome, _ decision: RestartDecision?, reason: String) {
        var isDone = false
        if case .stay? = decision, outcome.cause == .exited, outcome.status == .exited(code: 0) { isDone = true }
        for waiter in launchWaiters {
            if isDone {
                waiter.answer.succeed(LaunchReply(ended: reason))
            } else {
                waiter.answer.fail(.launchFailed(name, reason: reason))
            }
        }
        launchWaiters = []
    }

    private func follow(_ decision: RestartDecision, _ outcome: Outcome) {
        switch decision {
        case .restart(let instant, let cause):
            let delay = instant - daemon.host.loop.now
            daemon.publish(
                .restarting, of: self,
                "restarting " + (delay > .milliseconds(1) ? "in \(delay.brief)" : "at once") + " (\(cause.rawValue)): "
                    + Narration(name: name, verbosity: .quiet).words(for: outcome))
            wait(until: instant)
        case .limitReached(let cause, let next):
            let limit = restarts.reachedLimit.map { ": \(LimitSummary($0).words)" } ?? ""
            let consequence = next.map { "next attempt in \(($0 - daemon.host.loop.now).brief)" }
            daemon.publish(
                .limitReached, of: self,
                "failed too often (\(cause.rawValue))\(limit); "
                    + (consequence ?? "it stays down until \"watchdogd launch \(name)\""))
            if let next { wait(until: next) } else { stage = .failed }
        case .stay:
            break
        }
        daemon.appCameToRest()
    }

    func wait(until instant: Instant) {
        stage = .waiting(until: instant)
        arm(at: instant) { [unowned self] in begin() }
    }

    /// A process that cannot be killed may still end one day.
    private func lookAgain(at launch: AppLaunch, _ outcome: Outcome) {
        guard case .unkillable(let present) = stage, present === launch else { return }
        guard !launch.isGone else {
            retire(launch)
            daemon.say("\(name): the processes that SIGKILL did not end are gone")
            return settle(
                Outcome(cause: outcome.cause, status: outcome.status, isDeathVerified: true), reason: "it was killed")
        }
        arm(at: daemon.host.loop.now + .seconds(1)) { [unowned self] in lookAgain(at: launch, outcome) }
    }

    private func arm(at instant: Instant, _ action: @escaping () -> Void) {
        do {
            try setTimer(at: instant, action)
        } catch {
            let message = "cannot be restarted: \(error)"
            lastIncident = IncidentSummary(kind: .spawn, time: .now(), summary: message)
            stage = .failed
            daemon.say("\(name) \(message)")
        }
    }

    /// Does something while a launch runs; without a timer, never.
    func whenLive(at instant: Instant, _ action: @escaping () -> Void) { try? setTimer(at: instant, action) }

    private func setTimer(at instant: Instant, _ action: @escaping () -> Void) throws(LinuxError) {
        due = action
        // Apps that fail again and again take turns with whoever asks for their end.
        if timer == nil { timer = try daemon.host.loop.timer(priority: .last) { [unowned self] _ in due() } }
        timer?.arm(at: instant)
    }

    /// Gives a launch up when its last report is written.
    func retire(_ launch: AppLaunch) {
        if launch.hasPendingReports {
            if !retired.contains(where: { $0 === launch }) { retired.append(launch) }
        } else {
            retired.removeAll { $0 === launch }
            launch.kernel.stop()
            forgetState(of: launch)
            daemon.appCameToRest()
        }
    }
}
