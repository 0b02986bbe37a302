// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
public import WatchdogPolicy

/// The loop in which everything happens: descriptors, timers, signals, messages of other threads; on sd-event(3).
///
/// In one wake-up, sources are served by priority, and before each one of lower priority the descriptors are looked at
/// again: a timer at ``Priority/idle`` fires only when nothing else is left to be read. Handlers run one after the other
/// on the thread that called ``run()`` and must not block.
///
/// Isolation: belongs to one thread, as do all its sources. Other threads reach it through a ``Mailbox``.
public final class EventLoop {
    /// Who is served first when several sources are ready; smaller values go first.
    public struct Priority: RawRepresentable, Hashable, Comparable, Sendable {
        /// The value, as sd_event_source_set_priority(3) takes it.
        public let rawValue: Int64

        /// Creates a priority from its value.
        public init(rawValue: Int64) {
            self.rawValue = rawValue
        }

        /// True when `left` is served first.
        public static func < (left: Priority, right: Priority) -> Bool {
            left.rawValue < right.rawValue
        }

        /// Before everything else: exits of processes.
        public static let important = Priority(rawValue: Int64(SD_EVENT_PRIORITY_IMPORTANT))
        /// Messages, signs of life.
        public static let normal = Priority(rawValue: Int64(SD_EVENT_PRIORITY_NORMAL))
        /// When nothing else is left: deadlines.
        public static let idle = Priority(rawValue: Int64(SD_EVENT_PRIORITY_IDLE))
        /// After deadlines: what comes for many apps at once, and would keep a deadline waiting.
        public static let ping = Priority(rawValue: Int64(SD_EVENT_PRIORITY_IDLE) + 50)
        /// After deadlines, each in its turn: new work, which would otherwise keep the loop from what it has begun.
        public static let last = Priority(rawValue: Int64(SD_EVENT_PRIORITY_IDLE) + 100)
    }

    let event: OpaquePointer

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
        try checkEvent("run the event loop", sd_event_loop(event))
    }

    /// Waits for at most one event and serves it; false when the time was up without one.
    ///
    /// - Parameter limit: How long to wait; nil waits for ever.
    public func runOnce(limit: Duration?) throws(LinuxError) -> Bool {
        let microseconds = limit.map { UInt64(max($0.nanoseconds, 0)) / 1000 } ?? .max
        return try checkEvent("run the event loop", sd_event_run(event, microseconds)) > 0
    }

    /// Makes ``run()`` return after the current handler.
    ///
    /// - Parameter code: What ``run()`` returns, 0 … 255.
    public func exit(code: Int32) {
        _ = sd_event_exit(event, code)
    }

    /// The present: a fresh reading of the clock, however long the current handler has been running.
    public var now: Instant { .now() }

    /// When the loop last woke up, to the microsecond; nil before it first has.
    public var wokeAt: Instant? {
        var microseconds: UInt64 = 0
        // A positive answer means that the loop has not run yet: sd_event_now(3).
        guard sd_event_now(event, CLOCK_MONOTONIC, &microseconds) == 0 else { return nil }
        return Instant(microseconds: microseconds)
    }

    /// How many times the loop has looked for events.
    public var iteration: UInt64 {
        var count: UInt64 = 0
        sd_event_get_iteration(event, &count)
        return count
    }
}

/// The result of an sd-event call, which answers with a negative errno.
@discardableResult
func checkEvent(_ operation: @autoclosure () -> String, _ result: Int32) throws(LinuxError) -> Int32 {
    guard result >= 0 else { throw LinuxError(operation(), Errno(rawValue: -result)) }
    return result
}

extension Instant {
    init(microseconds: UInt64) {
        self.init(nanoseconds: Int64(clamping: microseconds.multipliedReportingOverflow(by: 1000).partialValue))
    }

    /// Rounded up, so that what is armed never fires early; zero for what lies before the clock's origin.
    var microsecondsRoundedUp: UInt64 {
        guard nanoseconds > 0 else { return 0 }
        return UInt64(nanoseconds) / 1000 + (nanoseconds % 1000 == 0 ? 0 : 1)
    }
}
