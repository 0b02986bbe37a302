// SPDX-License-Identifier: Apache-2.0

/// A clock that a test advances.
///
/// Give it to the app's code instead of `ContinuousClock`. It advances only in ``VirtualSupervisor/advance(by:)`` and
/// ``block(for:)``.
///
/// Isolation: any thread.
public final class VirtualClock: Clock, Sendable {
    /// A point in virtual time.
    public struct Instant: InstantProtocol {
        /// The time since the test began.
        public let offset: Swift.Duration

        init(offset: Swift.Duration) { self.offset = offset }

        /// A later instant.
        public func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }
        /// The time from this instant to another; negative if that is earlier.
        public func duration(to other: Instant) -> Swift.Duration { other.offset - offset }
        /// Whether one instant is before another.
        public static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
    }

    private let world: VirtualWorld

    init(_ world: VirtualWorld) { self.world = world }

    /// The virtual time, which starts at zero.
    public var now: Instant { Instant(offset: world.now) }
    /// The resolution of the clock: one nanosecond.
    public var minimumResolution: Swift.Duration { .nanoseconds(1) }

    /// Waits until the test has advanced the clock to the deadline.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
        try await world.sleep(until: deadline.offset)
    }

    /// Lets time pass while the caller occupies its thread, like a long computation or a blocking call.
    ///
    /// On the main actor, it hangs the app's main loop: pings of that time are answered afterwards, unless the watchdog
    /// has killed the app by then.
    public func block(for duration: Swift.Duration) { world.pass(to: world.now + duration) }
}
