// SPDX-License-Identifier: Apache-2.0

/// An incident whose preceding events are missing in the file, so that the effect of other allowances is unknown.
public struct UnjudgedIncident: Hashable, Sendable {
    /// The missing data.
    public enum Kind: String, CaseIterable, Hashable, Sendable {
        /// Liveness probes had failed; the file does not contain them.
        case probes
        /// Liveness probes had failed, or the app had requested it; the file does not show which.
        case probesOrTrigger = "probes-or-trigger"
        /// The app did not exit; the file does not contain the time of the request.
        case exit
        /// Background tasks were open too long, or used too much CPU time.
        case background
        /// The app was suspended with a locked file.
        case lock
    }

    /// The missing data.
    public let kind: Kind
    /// Whether the app was killed.
    public let isKill: Bool

    /// Creates an incident; `isKill` is false for one that was only reported.
    public init(_ kind: Kind, isKill: Bool) {
        self.kind = kind
        self.isKill = isKill
    }

    /// The note about all incidents of this kind in a history, without a period.
    ///
    /// - Parameter hasProbe: whether the app's file has a `Probe=`.
    func sentence(_ count: Int, hasProbe: Bool) -> String {
        let noun = isKill ? "kill" : "incident"
        let subject = count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
        let (cause, lack): (String, String) =
            switch kind {
            case .probesOrTrigger where !hasProbe:
                ("for failed probes, or because the app asked for it,", "the history has neither probes nor requests")
            case .probes, .probesOrTrigger: ("for failed probes", "the history has no probes")
            case .exit:
                ("because the app did not exit in time", "the history does not say when it was asked to")
            case .background: ("for background tasks", "the history has no tasks")
            case .lock: ("for a file that was locked while suspended", "no history has locks")
            }
        return "\(subject) \(cause) cannot be judged: \(lack)"
    }
}
