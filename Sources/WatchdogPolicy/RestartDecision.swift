// SPDX-License-Identifier: Apache-2.0

/// What follows the end of an app, as a ``RestartMachine`` decides it.
public enum RestartDecision: Hashable, Sendable {
    /// Why an app stays down.
    public enum StayReason: String, Hashable, Sendable, CaseIterable {
        /// Somebody asked for its end.
        case requested
        /// It ended in a way after which ``RestartSettings/policy`` does not restart it.
        case policy
        /// Processes of it may still live: it must never run twice.
        case unkillable
    }

    /// It is launched again at that time.
    case restart(at: Instant, cause: RestartSettings.Cause)
    /// It stays down.
    case stay(StayReason)
    /// A limit is reached; `next` is when it is launched all the same, nil when it stays down until somebody launches it.
    case limitReached(RestartSettings.Cause, next: Instant?)
}
