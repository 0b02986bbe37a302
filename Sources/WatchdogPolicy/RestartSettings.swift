// SPDX-License-Identifier: Apache-2.0

/// What happens after an app has ended without having been asked to: the section `[Restart]`.
///
/// The first restart after a healthy run is immediate. Each further one waits: the first time ``delay``, then ``factor``
/// times as long as the time before, at most ``maximumDelay``; a run of ``healthyTime`` starts this anew. Each wait is up
/// to a tenth shorter or longer than that, so that apps which ended together do not restart in step.
public struct RestartSettings: Hashable, Sendable, Codable {
    /// After which ends an app is restarted.
    public enum Policy: String, Hashable, Sendable, CaseIterable, Codable {
        /// After each.
        case always
        /// After each but exit code 0.
        case onFailure = "on-failure"
        /// After a kill by the watchdog.
        case onWatchdog = "on-watchdog"
        /// Never.
        case never
    }

    /// Why an app ended, as far as limits tell it apart.
    public enum Cause: String, Hashable, Sendable, CaseIterable, Codable, CodingKeyRepresentable {
        /// It could not be started, or ended or was killed before it was ready.
        case launch
        /// The watchdog killed it because it did not answer.
        case hang
        /// A signal ended it that the supervisor had not sent.
        case crash
        /// It exited.
        case exit
        /// The kernel killed it because memory was exhausted, ready or not.
        case memory
    }

    /// How many restarts are allowed within ``limitInterval``.
    public enum Limit: Hashable, Sendable, Codable {
        /// So many, at least one.
        case count(Int)
        /// Any number.
        case infinity
    }

    /// A limit that allowed no further restart.
    public struct ReachedLimit: Hashable, Sendable, Codable {
        /// Whose restarts it counts; nil: of all causes together that have no limit of their own.
        public let cause: Cause?
        /// So many it allows.
        public let count: Int
        /// The time within which they are counted.
        public let interval: Duration

        /// Creates a limit that is reached.
        public init(cause: Cause?, count: Int, interval: Duration) {
            self.cause = cause
            self.count = count
            self.interval = interval
        }

        /// What sets it in the section `[Restart]`: "LimitHang".
        public var key: String {
            let word = cause?.rawValue ?? ""
            return "Limit" + word.prefix(1).uppercased() + word.dropFirst()
        }
    }

    /// What happens when a limit is reached.
    public enum Consequence: String, Hashable, Sendable, CaseIterable, Codable {
        /// The app stays down until somebody launches it.
        case stop
        /// It is told, and each further restart waits ``maximumDelay``.
        case keepTrying = "keep-trying"
    }

    /// `Policy=`: after which ends the app is restarted.
    public var policy = Policy.onFailure
    /// `Delay=`: the wait before the second restart in a row.
    public var delay: Duration = .milliseconds(100)
    /// `Factor=`: by what the wait grows from one restart to the next.
    public var factor: Double = 2
    /// `MaxDelay=`: the longest wait.
    public var maximumDelay: Duration = .seconds(60)
    /// `Reset=`: a run that is ready for so long was a healthy one.
    public var healthyTime: Duration = .seconds(60)
    /// `Limit=`: for the restarts of all causes together that have no limit of their own.
    public var limit = Limit.count(10)
    /// `LimitLaunch=`, `LimitHang=`, …: for single causes, in place of ``limit``.
    public var causeLimits: [Cause: Limit] = [:]
    /// `LimitInterval=`: the time within which restarts are counted.
    public var limitInterval: Duration = .seconds(600)
    /// `AtLimit=`: what happens when a limit is reached.
    public var consequence = Consequence.keepTrying

    /// Creates the default settings.
    public init() {}
}
