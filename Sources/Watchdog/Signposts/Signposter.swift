// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogWire

/// Marks moments and intervals of an app's work, which watchdogd measures and shows beside launches and hangs.
///
/// ```swift
/// let signposter = Signposter(category: "photos")
/// let rows = signposter.withIntervalSignpost("load rows") { database.loadRows() }
/// signposter.emitEvent("tapped", "row 4")
/// ```
///
/// May be used from any thread, in apps with and without ``Application``. A mark costs some microseconds under watchdogd, less
/// than one without it. Marks set before the app has started are kept until then. If an app marks more than the supervisor
/// reads, marks are dropped and counted rather than waited for.
public struct Signposter: Hashable, Sendable {
    /// What part of the app the marks belong to; the first 64 bytes are sent.
    public let category: String

    /// Creates a signposter.
    public init(category: String) {
        self.category = category
    }

    /// True when somebody may hear of the marks; spares the making of expensive messages.
    public var isEnabled: Bool { Watchdog.hearsMarks }

    /// Begins an interval.
    ///
    /// - Parameters:
    ///   - name: What goes on; the first 64 bytes are sent.
    ///   - message: More about it; the first 256 bytes are sent.
    ///   - id: A ``SignpostID/init()`` when intervals of this name may overlap.
    /// - Returns: What ``endInterval(_:_:)`` needs.
    public func beginInterval(
        _ name: StaticString,
        _ message: @autoclosure () -> String = "",
        id: SignpostID = .exclusive
    ) -> SignpostInterval {
        mark(.begin, name, id, message)
        return SignpostInterval(name: name, id: id)
    }

    /// Ends an interval; it may be on another thread than it has begun.
    public func endInterval(_ interval: SignpostInterval, _ message: @autoclosure () -> String = "") {
        mark(.end, interval.name, interval.id, message)
    }

    /// Marks a moment.
    public func emitEvent(_ name: StaticString, _ message: @autoclosure () -> String = "", id: SignpostID = .exclusive)
    {
        mark(.event, name, id, message)
    }

    /// Marks the interval that a piece of work takes.
    public func withIntervalSignpost<Result, Failure: Error>(
        _ name: StaticString,
        id: SignpostID = .exclusive,
        around work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let interval = beginInterval(name, id: id)
        defer { endInterval(interval) }
        return try work()
    }

    /// Marks the interval that a piece of asynchronous work takes, waiting included.
    ///
    /// - Parameters:
    ///   - name: What goes on.
    ///   - id: Such work often overlaps, so that each interval has an identifier of its own unless told otherwise.
    ///   - isolation: Where the work is called from.
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
