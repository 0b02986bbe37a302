// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// How long the turns of a loop took: from a wake-up until the loop polls for events again.
///
/// A turn is one handler and everything it calls. Nothing else happens during it, not even a kill.
public struct LoopTurns: Hashable, Sendable {
    /// The longest iteration since the start, in nanoseconds.
    private var longestEver: Int64 = 0
    private var current: Int64 = 0
    private var previous: Int64 = 0
    /// When the span of ``current`` began.
    private var began: Int64 = .min
    private static let span: Int64 = 30_000_000_000

    init() {}

    /// The longest iteration since the loop was created.
    public var longest: Duration { .nanoseconds(longestEver) }

    /// The longest iteration in the recent past, which covers between half a minute and a minute.
    public func longestRecently(at now: Instant) -> Duration {
        let (current, previous) = spans(at: now.nanoseconds)
        return .nanoseconds(max(current, previous))
    }

    mutating func add(from wokeAt: Instant, to now: Instant) {
        let turn = now.nanoseconds &- wokeAt.nanoseconds
        longestEver = max(longestEver, turn)
        if now.nanoseconds &- Self.span >= began {
            previous = spans(at: now.nanoseconds).previous
            current = 0
            began = now.nanoseconds
        }
        current = max(current, turn)
    }

    /// The spans that still count: a completed one becomes the previous one, and is dropped after another span.
    private func spans(at now: Int64) -> (current: Int64, previous: Int64) {
        switch now {
        case ..<began.saturatingAdd(Self.span): (current, previous)
        case ..<began.saturatingAdd(2 * Self.span): (0, current)
        default: (0, 0)
        }
    }
}

extension Int64 {
    fileprivate func saturatingAdd(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
