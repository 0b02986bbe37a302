// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What follows the end of an app, as decided by a ``RestartMachine``.
public enum RestartDecision: Hashable, Sendable {
    /// Why an app stays down.
    public enum StayReason: String, Hashable, Sendable, CaseIterable {
        /// Somebody requested the end.
        case requested
        /// ``RestartSettings/policy`` allows no restart after this kind of end.
        case policy
        /// Some of its processes may still be alive, and the app must never run twice.
        case unkillable
    }

    /// It is launched again at this time.
    case restart(at: Instant, cause: RestartSettings.Cause)
    /// It stays down.
    case stay(StayReason)
    /// A limit was reached; `next` is when it is launched anyway, nil if it stays down until somebody launches it.
    case limitReached(RestartSettings.Cause, next: Instant?)
}
