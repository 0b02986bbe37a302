// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
public import WatchdogBase

/// A timer that fires once at an instant of `CLOCK_MONOTONIC`: never early, and as precisely as the scheduler allows.
public final class Timer: EventSource {
    /// What a timer's handler needs to determine how late it is.
    public struct Firing: Hashable, Sendable {
        /// When the timer was due.
        public let due: Instant
        /// When the loop woke up for it, to the microsecond.
        public let wokeAt: Instant
        /// When the handler was called: a fresh reading of the clock.
        public let now: Instant

        /// Creates a firing from its parts.
        public init(due: Instant, wokeAt: Instant, now: Instant) {
            self.due = due
            self.wokeAt = wokeAt
            self.now = now
        }

        /// How late the loop woke up because of the machine; its own handlers do not count.
        public var oversleep: Duration { max(wokeAt - due, .zero) }
        /// How late the handler was called, for any reason.
        public var lateness: Duration { max(now - due, .zero) }
    }

    /// When the timer will fire; nil when it is not armed.
    public private(set) var due: Instant?
    /// Whether it was armed for a later time; otherwise it only defers a call.
    private var isAhead = false
    private let loop: EventLoop
    private let handler: (Firing) -> Void

    init(
        _ loop: EventLoop,
        priority: EventLoop.Priority,
        handler: @escaping (Firing) -> Void
    ) throws(LinuxError) {
        self.loop = loop
        self.handler = handler
        super.init()
        try adopt(priority: priority, "create a timer") { source, userData in
            // 0 would mean the default accuracy, 250 ms: sd_event_add_time(3).
            let accuracy: UInt64 = 1
            return sd_event_add_time(
                loop.event, &source, CLOCK_MONOTONIC, .max, accuracy,
                { _, _, userData in EventSource.serve(userData, as: Timer.self) { $0.fire() } },
                userData
            )
        }
        sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF))
    }

    /// Rearms the timer, whether or not it was armed; nil disarms it.
    ///
    /// An instant in the past fires immediately.
    public func arm(at instant: Instant?) {
        due = instant
        guard isActive else { return }
        guard let instant else {
            sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF))
            return
        }
        isAhead = instant > .now()
        sd_event_source_set_time(source, instant.microsecondsRoundedUp)
        sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT))
    }

    private func fire() {
        guard let due else { return }
        self.due = nil
        let now = Instant.now()
        let firing = Firing(due: due, wokeAt: loop.wokeAt ?? now, now: now)
        if isAhead { loop.noteLateness(firing.oversleep) }
        handler(firing)
    }
}

extension EventLoop {
    /// Creates a disarmed timer.
    ///
    /// - Parameters:
    ///   - priority: ``Priority/idle`` for deadlines that kill, so that every sign of life is read first.
    ///   - handler: The action; may arm the timer again.
    public func timer(
        priority: Priority = .normal,
        handler: @escaping (Timer.Firing) -> Void
    ) throws(LinuxError) -> Timer {
        try Timer(self, priority: priority, handler: handler)
    }
}
