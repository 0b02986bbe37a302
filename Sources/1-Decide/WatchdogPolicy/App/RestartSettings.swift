// SPDX-License-Identifier: Apache-2.0

/// What happens after an unrequested end: the section `[Restart]`.
///
/// The first restart after a healthy run is immediate. Each further one waits: first ``delay``, then ``factor`` times
/// the previous wait, at most ``maximumDelay``. A run of ``healthyTime`` starts over. Each wait varies by up to a
/// tenth, so that apps that ended together do not restart in step.
public struct RestartSettings: Hashable, Sendable, Codable {
    /// Which ends are followed by a restart.
    public enum Policy: String, Hashable, Sendable, CaseIterable, Codable {
        /// All ends.
        case always
        /// All ends except exit code 0.
        case onFailure = "on-failure"
        /// Kills by the watchdog.
        case onWatchdog = "on-watchdog"
        /// None.
        case never
    }

    /// Causes of an end that limits distinguish.
    public enum Cause: String, Hashable, Sendable, CaseIterable, Codable, CodingKeyRepresentable {
        /// It could not be started, or it ended or was killed before it was ready.
        case launch = "launch"
        /// The watchdog killed it because it did not answer.
        case hang = "hang"
        /// A signal that the supervisor had not sent ended it.
        case crash = "crash"
        /// It exited.
        case exit = "exit"
        /// The kernel killed it because memory was exhausted, whether or not it was ready.
        case memory = "memory"
    }

    /// How many restarts are allowed within ``limitInterval``.
    public enum Limit: Hashable, Sendable, Codable {
        /// This many, at least one.
        case count(Int)
        /// Any number.
        case infinity
    }

    /// A limit that allowed no further restart.
    public struct ReachedLimit: Hashable, Sendable, Codable {
        /// The cause whose restarts it counts; nil for all causes without a limit of their own.
        public let cause: Cause?
        /// The number of restarts it allows.
        public let count: Int
        /// The interval in which they are counted.
        public let interval: Duration

        private enum CodingKeys: String, CodingKey { case cause, count, interval }

        /// Creates a reached limit.
        public init(cause: Cause?, count: Int, interval: Duration) {
            self.cause = cause
            self.count = count
            self.interval = interval
        }

        /// The key that sets it in the section `[Restart]`: "LimitHang".
        public var key: String {
            let word = cause?.rawValue ?? ""
            return "Limit" + word.prefix(1).uppercased() + word.dropFirst()
        }
    }

    /// What happens when a limit is reached.
    public enum Consequence: String, Hashable, Sendable, CaseIterable, Codable {
        /// The app stays down until somebody launches it.
        case stop
        /// It is reported, and each further restart waits ``maximumDelay``.
        case keepTrying = "keep-trying"
    }

    /// `Policy=`: which ends are followed by a restart.
    public var policy = Policy.onFailure
    /// `Delay=`: the wait before the second restart in a row.
    public var delay: Duration = .milliseconds(100)
    /// `Factor=`: the growth of the wait from one restart to the next.
    public var factor: Double = 2
    /// `MaxDelay=`: the longest wait.
    public var maximumDelay: Duration = .seconds(60)
    /// `Reset=`: a run that stays ready this long counts as healthy.
    public var healthyTime: Duration = .seconds(60)
    /// `Limit=`: for restarts of all causes without a limit of their own, counted together.
    public var limit = Limit.count(10)
    /// `LimitLaunch=`, `LimitHang=`, …: limits for single causes, instead of ``limit``.
    public var causeLimits: [Cause: Limit] = [:]
    /// `LimitInterval=`: the interval in which restarts are counted.
    public var limitInterval: Duration = .seconds(600)
    /// `AtLimit=`: what happens when a limit is reached.
    public var consequence = Consequence.keepTrying

    /// Creates the default settings.
    public init() {}
}
