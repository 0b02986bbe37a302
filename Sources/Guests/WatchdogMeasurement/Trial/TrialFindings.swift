// SPDX-License-Identifier: Apache-2.0

/// The findings of a program's trial launch.
public struct TrialFindings: Equatable, Sendable {
    /// The way in which the program reports its progress.
    public enum Source: String, Equatable, Sendable {
        /// On the channel of the `Watchdog` library.
        case channel
        /// By sd_notify(3).
        case notify
    }

    /// The program's own report that it is ready.
    public struct Readiness: Equatable, Sendable {
        /// The time since the launch.
        public let time: Duration
        /// The source of the report.
        public let source: Source

        /// Creates a readiness.
        public init(time: Duration, source: Source) {
            self.time = time
            self.source = source
        }
    }

    /// An address on which it listens.
    public struct Listener: Equatable, Sendable {
        /// `127.0.0.1:8080`, `[::1]:8080`, a path, or `@NAME`.
        public let address: String
        /// The time at which it was first observed, since the launch.
        public let time: Duration
        /// The status code of its response to `GET /`; nil without one.
        public var httpStatus: Int?

        /// Creates a listener.
        public init(address: String, time: Duration, httpStatus: Int? = nil) {
            self.address = address
            self.time = time
            self.httpStatus = httpStatus
        }
    }

    /// The end of the trial.
    public enum End: Equatable, Sendable {
        /// It exited this long after the request.
        case terminated(after: Duration)
        /// It had to be killed after this time.
        case killed(after: Duration)
        /// It exited by itself with this code, or was killed by a signal: 128 + n.
        case exited(code: Int32, time: Duration)
    }

    /// The absolute path of the program, and its arguments.
    public var command: [String]
    /// The observation time.
    public var observed: Duration
    /// The time of the greeting on the channel; nil without one.
    public var hello: Duration?
    /// Its report that it is ready; nil without one.
    public var ready: Readiness?
    /// The number of `WATCHDOG=1` messages.
    public var heartbeats = 0
    /// The addresses on which it listens, in the order of their first observation.
    public var listeners: [Listener] = []
    /// The end of the trial.
    public var end: End
    /// The number of processes that it left behind when it exited by itself.
    public var leftBehind = 0
    /// The last line of its standard error.
    public var lastLine: String?

    /// Creates empty findings.
    public init(command: [String], observed: Duration, end: End) {
        self.command = command
        self.observed = observed
        self.end = end
    }

    /// The end of its launch, by the best evidence; nil without any.
    public var launch: Duration? { ready?.time ?? listeners.first?.time }
}
