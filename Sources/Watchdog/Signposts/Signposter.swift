// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogWire

/// Marks moments and intervals of an app's work, which watchdogd measures and shows with launches and hangs.
///
/// ```swift
/// let signposter = Signposter(category: "photos")
/// let rows = signposter.withIntervalSignpost("load rows") { database.loadRows() }
/// signposter.emitEvent("tapped", "row 4")
/// ```
///
/// Use it from any thread, in apps with and without ``Application``. A mark costs a few microseconds under watchdogd, and less
/// than one without it. Marks set before the app has started are sent then. If an app sets marks faster than the supervisor
/// reads them, the library drops and counts them; it never waits.
public struct Signposter: Hashable, Sendable {
    /// The part of the app that the marks belong to; the first 64 bytes are sent.
    public let category: String

    /// Creates a signposter, which costs nothing until it marks something.
    public init(category: String) {
        self.category = category
    }

    /// Whether marks may have a receiver; check it before building expensive messages.
    public var isEnabled: Bool { Watchdog.hearsMarks }

    /// Begins an interval.
    ///
    /// - Parameters:
    ///   - name: What is happening; the first 64 bytes are sent.
    ///   - message: Details; the first 256 bytes are sent.
    ///   - id: A ``SignpostID/init()`` if intervals with this name may overlap.
    /// - Returns: What ``endInterval(_:_:)`` needs.
    public func beginInterval(
        _ name: StaticString,
        _ message: @autoclosure () -> String = "",
        id: SignpostID = .exclusive
    ) -> SignpostInterval {
        mark(.begin, name, id, message)
        return SignpostInterval(name: name, id: id)
    }

    /// Ends an interval; it may have begun on another thread.
    public func endInterval(_ interval: SignpostInterval, _ message: @autoclosure () -> String = "") {
        mark(.end, interval.name, interval.id, message)
    }

    /// Marks a moment.
    ///
    /// The message is evaluated only if ``isEnabled``.
    public func emitEvent(_ name: StaticString, _ message: @autoclosure () -> String = "", id: SignpostID = .exclusive)
    {
        mark(.event, name, id, message)
    }

    /// Marks the time that a piece of work takes, also if it throws.
    public func withIntervalSignpost<Result, Failure: Error>(
        _ name: StaticString,
        id: SignpostID = .exclusive,
        around work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let interval = beginInterval(name, id: id)
        defer { endInterval(interval) }
        return try work()
    }

    /// Marks the time that a piece of asynchronous work takes, including suspensions.
    ///
    /// - Parameters:
    ///   - name: What is happening.
    ///   - id: Such work often overlaps, so by default each interval has its own identifier.
    ///   - isolation: The caller's actor, on which the work runs.
    ///   - work: The work.
    public func withIntervalSignpost<Result, Failure: Error>(
        _ name: StaticString,
        id: SignpostID = SignpostID(),
        isolation: isolated (any Actor)? = #isolation,
        around work: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let interval = beginInterval(name, id: id)
        defer { endInterval(interval) }
        return try await work()
    }

    private func mark(
        _ phase: ClientMessage.Signpost.Phase,
        _ name: StaticString,
        _ id: SignpostID,
        _ message: () -> String
    ) {
        guard isEnabled else { return }
        let signpost = ClientMessage.Signpost(
            phase,
            category: category,
            name: "\(name)",
            id: id.rawValue,
            nanoseconds: Self.now,
            isOnMainThread: MainLoop.isCurrent,
            message: message()
        )
        Watchdog.say { $0.add(signpost) }
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Distinguishes overlapping intervals of the same name.
public struct SignpostID: Hashable, Sendable {
    /// The number by which the supervisor matches the beginning and the end of an interval.
    public let rawValue: UInt64

    /// For intervals that never overlap.
    public static let exclusive = SignpostID(rawValue: 0)

    private static let last = Locked<UInt64>(0)

    /// Creates an identifier that is unique in this process.
    public init() {
        rawValue = Self.last.withLock { last in
            last += 1
            return last
        }
    }

    private init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// An interval that has begun; pass it back to end it.
public struct SignpostInterval: Sendable {
    let name: StaticString
    let id: SignpostID
}
