// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// The reason why an app does not answer: an overdue answer, or a stopped process.
public struct SilenceSummary: Hashable, Sendable, Codable {
    /// The overdue answer, or the state of the process; later versions may add reasons.
    public struct Reason: RawRepresentable, Hashable, Sendable, Codable {
        /// The name in the interface.
        public let rawValue: String

        /// Creates a reason from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A signal has stopped the process.
        public static let stopped = Reason(rawValue: "stopped")
        /// Its cgroup was frozen from outside.
        public static let frozen = Reason(rawValue: "frozen")
        /// A debugger has stopped it.
        public static let traced = Reason(rawValue: "traced")
        /// The kernel is writing its core.
        public static let dumpingCore = Reason(rawValue: "dumping-core")
        /// Liveness probes have failed.
        public static let probes = Reason(rawValue: "probes")
        /// The main loop has not answered a ping, a state request or an event.
        public static let ping = Reason(rawValue: "ping")
        /// Most of the time for the next `WATCHDOG=1` has passed, or all of it.
        public static let push = Reason(rawValue: "push")
    }

    /// The reason.
    public var reason: Reason
    /// The start of the silence.
    public var since: Timestamp
    /// The number of the latest consecutive failed probes; nil for another reason.
    public var failedProbes: Int?
    /// The number of failed probes that count as a hang; nil for another reason.
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
    /// - Parameter since: the start as calendar time, because the machine's instants are on the monotonic clock.
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
