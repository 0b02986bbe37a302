// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
public import WatchdogBase

/// The event loop that handles everything: descriptors, timers, signals, messages from other threads; based on
/// sd-event(3).
///
/// In one wake-up, sources are served by priority, and descriptors are polled again before each one of lower priority:
/// a timer at ``Priority/idle`` fires only when nothing else is left to read. Handlers run one after another on the
/// thread that called ``run()``, and must not block.
///
/// Isolation: belongs to one thread, as do all its sources. Other threads reach it through a ``Mailbox``.
public final class EventLoop {
    /// Which of several ready sources is served first; smaller values go first.
    public struct Priority: RawRepresentable, Hashable, Comparable, Sendable {
        /// The value, as sd_event_source_set_priority(3) takes it.
        public let rawValue: Int64

        /// Creates a priority from its value.
        public init(rawValue: Int64) {
            self.rawValue = rawValue
        }

        /// Whether `left` is served first.
        public static func < (left: Priority, right: Priority) -> Bool {
            left.rawValue < right.rawValue
        }

        /// Before everything else: programs that have just been executed, because other sources may already have events
        /// about them.
        public static let first = Priority(rawValue: Int64(SD_EVENT_PRIORITY_IMPORTANT) - 100)
        /// Before messages: process exits.
        public static let important = Priority(rawValue: Int64(SD_EVENT_PRIORITY_IMPORTANT))
        /// Messages and signs of life.
        public static let normal = Priority(rawValue: Int64(SD_EVENT_PRIORITY_NORMAL))
        /// Deadlines, when nothing else is left.
        public static let idle = Priority(rawValue: Int64(SD_EVENT_PRIORITY_IDLE))
        /// After deadlines: work that comes due for many apps at once and would delay a deadline.
        public static let ping = Priority(rawValue: Int64(SD_EVENT_PRIORITY_IDLE) + 50)
        /// After deadlines, in order: new work, which would otherwise delay work that is already in progress.
        public static let last = Priority(rawValue: Int64(SD_EVENT_PRIORITY_IDLE) + 100)
    }

    let event: OpaquePointer
    /// How long handlers have kept the loop from polling its descriptors.
    public private(set) var turns = LoopTurns()

    /// How late the loop woke for timers that were armed ahead of time.
    public private(set) var lateness = FixedHistogram(
        bounds: [.microseconds(100), .milliseconds(1), .milliseconds(10), .milliseconds(100), .seconds(1)])

    /// Creates a loop without sources.
    public init() throws(LinuxError) {
        var event: OpaquePointer?
        try checkEvent("create an event loop", sd_event_new(&event))
        guard let event else { throw LinuxError("create an event loop", .invalidArgument) }
        self.event = event
    }

    deinit {
        sd_event_unref(event)
    }

    /// Serves sources until ``exit(code:)`` is called, and returns its code.
    public func run() throws(LinuxError) -> Int32 {
        while sd_event_get_state(event) != SD_EVENT_FINISHED { _ = try runOnce(limit: nil) }
        var code: Int32 = 0
        try checkEvent("run the event loop", sd_event_get_exit_code(event, &code))
        return code
    }

    /// Waits for at most one event and handles it; returns false on timeout.
    ///
    /// - Parameter limit: The maximum wait; nil to wait indefinitely.
    public func runOnce(limit: Duration?) throws(LinuxError) -> Bool {
        let microseconds = limit.map { UInt64(max($0.nanoseconds, 0)) / 1000 } ?? .max
        defer { if let wokeAt { turns.add(from: wokeAt, to: now) } }
        return try checkEvent("run the event loop", sd_event_run(event, microseconds)) > 0
    }

    /// Makes ``run()`` return after the current handler.
    ///
    /// - Parameter code: The value that ``run()`` returns, 0 … 255.
    public func exit(code: Int32) {
        _ = sd_event_exit(event, code)
    }

    func noteLateness(_ duration: Duration) { lateness.record(duration) }

    /// The current time: always a fresh reading of the clock, no matter how long the current handler has been running.
    public var now: Instant { .now() }

    /// When the loop last woke up, to the microsecond; nil before the first time.
    public var wokeAt: Instant? {
        var microseconds: UInt64 = 0
        // A positive result means that the loop has not run yet: sd_event_now(3).
        guard sd_event_now(event, CLOCK_MONOTONIC, &microseconds) == 0 else { return nil }
        return Instant(microseconds: microseconds)
    }

    /// How many times the loop has polled for events.
    public var iteration: UInt64 {
        var count: UInt64 = 0
        sd_event_get_iteration(event, &count)
        return count
    }
}

/// Checks the result of an sd-event call, which reports errors as a negative errno.
@discardableResult
func checkEvent(_ operation: @autoclosure () -> String, _ result: Int32) throws(LinuxError) -> Int32 {
    guard result >= 0 else { throw LinuxError(operation(), Errno(rawValue: -result)) }
    return result
}

extension Instant {
    init(microseconds: UInt64) {
        self.init(nanoseconds: Int64(clamping: microseconds.multipliedReportingOverflow(by: 1000).partialValue))
    }

    /// Rounded up, so that a timer never fires early; zero for instants before the clock's origin.
    var microsecondsRoundedUp: UInt64 {
        guard nanoseconds > 0 else { return 0 }
        return UInt64(nanoseconds) / 1000 + (nanoseconds % 1000 == 0 ? 0 : 1)
    }
}
