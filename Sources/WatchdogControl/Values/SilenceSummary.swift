// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// What keeps an app from answering: what it owes, or who has stopped it.
public struct SilenceSummary: Hashable, Sendable, Codable {
    /// What the app owes, or what happened to its process; later versions may add reasons.
    public struct Reason: RawRepresentable, Hashable, Sendable, Codable {
        /// The name in the interface.
        public let rawValue: String

        /// Creates a reason from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A signal has stopped the process.
        public static let stopped = Reason(rawValue: "stopped")
        /// Somebody has frozen its cgroup.
        public static let frozen = Reason(rawValue: "frozen")
        /// A debugger has stopped it.
        public static let traced = Reason(rawValue: "traced")
        /// The kernel is writing its core.
        public static let dumpingCore = Reason(rawValue: "dumping-core")
        /// Liveness probes have failed.
        public static let probes = Reason(rawValue: "probes")
        /// The main loop has not answered a ping, or not done what it was told.
        public static let ping = Reason(rawValue: "ping")
        /// Most of the time for the next `WATCHDOG=1` has passed, or all of it.
        public static let push = Reason(rawValue: "push")
    }

    /// What the app owes, or what happened to its process.
    public var reason: Reason
    /// When that began.
    public var since: Timestamp
    /// How many of the latest probes failed; nil for another reason.
    public var failedProbes: Int?
    /// How many must fail to count as a hang; nil for another reason.
    public var neededProbes: Int?
    /// Whether the app may still be in time; nil unless it pushes.
    public var isInTime: Bool?

    /// Creates a summary.
    public init(
        reason: Reason, since: Timestamp, failedProbes: Int? = nil, neededProbes: Int? = nil, isInTime: Bool? = nil
    ) {
        self.reason = reason
        self.since = since
        self.failedProbes = failedProbes
        self.neededProbes = neededProbes
        self.isInTime = isInTime
    }

    /// Creates the summary of a silence.
    ///
    /// - Parameter since: when it began; the machine's instant means nothing to others.
    public init(_ reason: Silence.Reason, since: Timestamp) {
        switch reason {
        case .held(.stopped): self.init(reason: .stopped, since: since)
        case .held(.frozen): self.init(reason: .frozen, since: since)
        case .held(.traced): self.init(reason: .traced, since: since)
        case .held(.dumpingCore): self.init(reason: .dumpingCore, since: since)
        case .probes(let failed, let needed):
            self.init(reason: .probes, since: since, failedProbes: failed, neededProbes: needed)
        case .ping: self.init(reason: .ping, since: since)
        case .push(let isOverdue): self.init(reason: .push, since: since, isInTime: !isOverdue)
        }
    }

    private enum CodingKeys: String, CodingKey {
        case reason
        case since = "sinceUSec"
        case failedProbes
        case neededProbes
        case isInTime
    }
}
