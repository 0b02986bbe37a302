// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What an examiner was asked shortly before a deadline, and whether its answer holds at the deadline.
///
/// An examination takes longer than anything else before a kill, and apps that hang for one cause reach their deadlines together:
/// each would wait for those of the others. So an app that has been silent for most of its allowance is examined while the
/// allowance still runs, at ``moment(before:of:)``. If its thread has had no CPU since then, it has not returned from the call in
/// which it was blocked, and the answer holds.
///
/// Isolation: a value; its holder serializes the calls.
public struct Foresight: Hashable, Sendable {
    /// How long before a deadline an examiner is asked, unless the allowance is short.
    public static let lead = Duration.milliseconds(100)
    /// The part of a short allowance that is left then.
    static let share = 8
    /// How old an answer may be that holds: what others do meanwhile changes, too.
    public static let lifetime = Duration.milliseconds(200)

    /// How often, and for how long, a thread has had a CPU.
    public struct Position: Hashable, Sendable {
        /// The thread's ID.
        public let thread: Int32
        /// Its CPU time.
        public let runTime: Duration
        /// How often it got a CPU.
        public let timeslices: UInt64

        /// Creates a position from what `/proc/PID/task/TID/schedstat` shows.
        public init(thread: Int32, runTime: Duration, timeslices: UInt64) {
            self.thread = thread
            self.runTime = runTime
            self.timeslices = timeslices
        }
    }

    private let position: Position
    private let askedAt: Instant

    /// Notes where a thread is that is examined now.
    public init(_ position: Position, at now: Instant) {
        self.position = position
        askedAt = now
    }

    /// Whether the answer is about the call in which the thread is blocked now.
    ///
    /// - Parameter current: where the thread is; nil if the kernel does not tell.
    public func holds(at current: Position?, _ now: Instant) -> Bool {
        current == position && now - askedAt <= Self.lifetime
    }

    /// When an examiner is asked.
    ///
    /// - Parameters:
    ///   - deadline: when the allowance is exhausted.
    ///   - allowance: how long it is.
    static func moment(before deadline: Instant, of allowance: Duration) -> Instant {
        deadline - min(lead, allowance / share)
    }
}
