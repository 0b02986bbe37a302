// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// A sign of life that an app owes, from the first one missed until the app shows one again.
///
/// An incident that is only reported does not end it.
public struct Silence: Hashable, Sendable {
    /// What the app owes, or who keeps it from answering.
    public enum Reason: Hashable, Sendable {
        /// Somebody has stopped, frozen or traced the process.
        case held(Pause)
        /// Consecutive liveness probes failed; so many as `needed` are a hang.
        case probes(failed: Int, needed: Int)
        /// The main loop has not answered a ping, or not done what it was told, for ``AppSpec/observationDelay`` or half
        /// of its allowance.
        case ping
        /// Three quarters of the time for the next `WATCHDOG=1` have passed, or all of it.
        case push(isOverdue: Bool)
    }

    /// What the app owes.
    public let reason: Reason
    /// When the app was stopped, or when the first of what it did not answer began.
    public let since: Instant
}

extension AllowanceWatch {
    /// The silence of an app that is ready; nil if it may still answer in good time.
    ///
    /// While a pause whose start is unknown lasts, the silence is as old as the allowance.
    func silence(at now: Instant, _ spec: AppSpec) -> Silence? {
        switch purpose {
        case .launch, .termination: return nil
        case .ping, .obligation:
            let since = silentSince(at: now) ?? judgement.startedAt
            let half = (judgement.deadline - judgement.windowStart) / 2
            let wait = min(half, spec.observationDelay ?? spec.hangThreshold)
            guard !judgement.isCounting || now - judgement.windowStart >= wait else { return nil }
            return Silence(reason: .ping, since: since)
        case .push:
            // sd_watchdog_enabled(3) recommends to push every half of the allowance.
            let late = judgement.windowStart + (judgement.deadline - judgement.windowStart) / 4 * 3
            let isOverdue = !judgement.isCounting || now >= judgement.deadline
            guard isOverdue || now >= late else { return nil }
            return Silence(reason: .push(isOverdue: isOverdue), since: judgement.startedAt)
        }
    }
}

extension ProbeWatch {
    /// The silence of an app that is ready; nil if its latest probe succeeded.
    func silence(_ spec: AppSpec) -> Silence? {
        guard let (count, since) = missed else { return nil }
        return Silence(reason: .probes(failed: count, needed: spec.livenessProbe?.threshold ?? count), since: since)
    }
}

extension ProcessMachine {
    /// What keeps an app that is launching or ready from answering; nil if nothing is known to.
    ///
    /// An app that is launching owes no answer, but may be stopped. Of two silences, the older one counts.
    public func silence(at now: Instant) -> Silence? {
        switch lifecycleState {
        case .notRunning, .terminating: nil
        case .launching: watches.heldSilence
        default: watches.heldSilence ?? watches.silence(at: now, spec)
        }
    }

    /// Whether anything can detect a hang of the app: a liveness probe, pings that it answers, or its own pushes.
    ///
    /// An app that has none of them may still begin to answer or to push.
    public var isWatched: Bool {
        spec.livenessProbe != nil || watches.duties.answersPings || watches.duties.push.isExpected
    }

    /// Whether only liveness probes can detect a hang of the app.
    public var isOnlyProbed: Bool {
        spec.livenessProbe != nil && !watches.duties.answersPings && !watches.duties.push.isExpected
    }

    /// Whether the app is ready, owes no sign of life, and no incident is open.
    public func isAnswering(at now: Instant) -> Bool {
        phase == .running && !isInIncident && silence(at: now) == nil
    }
}
