// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
public import WatchdogPolicy

/// A timer that fires once at an instant of `CLOCK_MONOTONIC`, never early, and as exactly as the scheduler allows.
public final class Timer: EventSource {
    /// What a timer's handler needs to judge how late it is.
    public struct Firing: Hashable, Sendable {
        /// When the timer was to fire.
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

        /// How late the machine let the loop wake up: its own handlers do not count.
        public var oversleep: Duration { max(wokeAt - due, .zero) }
        /// How late the handler was called, for whatever reason.
        public var lateness: Duration { max(now - due, .zero) }
    }

    /// When the timer will fire; nil when it is not armed.
    public private(set) var due: Instant?
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

    /// Arms the timer anew, whether or not it was armed; nil disarms it.
    ///
    /// An instant in the past fires at once.
    public func arm(at instant: Instant?) {
        due = instant
        guard isActive else { return }
        guard let instant else {
            sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF))
            return
        }
        sd_event_source_set_time(source, instant.microsecondsRoundedUp)
        sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT))
    }

    private func fire() {
        guard let due else { return }
        self.due = nil
        let now = Instant.now()
        handler(Firing(due: due, wokeAt: loop.wokeAt ?? now, now: now))
    }
}

extension EventLoop {
    /// Creates a timer, not yet armed.
    ///
    /// - Parameters:
    ///   - priority: ``Priority/idle`` for deadlines that kill, so that every sign of life is read first.
    ///   - handler: What to do; may arm the timer again.
    public func timer(
        priority: Priority = .normal,
        handler: @escaping (Timer.Firing) -> Void
    ) throws(LinuxError) -> Timer {
        try Timer(self, priority: priority, handler: handler)
    }
}
