// SPDX-License-Identifier: Apache-2.0

/// What a program did when it was launched once, for a while.
public struct TrialFindings: Equatable, Sendable {
    /// Where the program says how far it is.
    public enum Source: String, Equatable, Sendable {
        /// On the channel of the `Watchdog` library.
        case channel
        /// By sd_notify(3).
        case notify
    }

    /// That it is ready, in its own words.
    public struct Readiness: Equatable, Sendable {
        /// When, since the launch.
        public let time: Duration
        /// Where.
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
        /// When it was first seen to listen, since the launch.
        public let time: Duration
        /// The status code of its response to `GET /`; nil if it gave none.
        public var httpStatus: Int?

        /// Creates a listener.
        public init(address: String, time: Duration, httpStatus: Int? = nil) {
            self.address = address
            self.time = time
            self.httpStatus = httpStatus
        }
    }

    /// How it ended.
    public enum End: Equatable, Sendable {
        /// It ended this long after it was asked to.
        case terminated(after: Duration)
        /// It had to be killed after this time.
        case killed(after: Duration)
        /// It exited by itself with this code, or was killed by a signal: 128 + n.
        case exited(code: Int32, time: Duration)
    }

    /// The program by its absolute path, and its arguments.
    public var command: [String]
    /// How long it was observed.
    public var observed: Duration
    /// When it opened the channel.
    public var hello: Duration?
    /// When it said that it is ready, and where.
    public var ready: Readiness?
    /// How often it sent `WATCHDOG=1`.
    public var heartbeats = 0
    /// Where it listens, in the order in which it began to.
    public var listeners: [Listener] = []
    /// How it ended.
    public var end: End
    /// How many processes it left behind when it exited by itself.
    public var leftBehind = 0
    /// The last line that it wrote to its standard error.
    public var lastLine: String?

    /// Creates the findings for a program that has done nothing yet.
    public init(command: [String], observed: Duration, end: End) {
        self.command = command
        self.observed = observed
        self.end = end
    }

    /// When its launch was over, by the best evidence; nil if there is none.
    public var launch: Duration? { ready?.time ?? listeners.first?.time }
}
