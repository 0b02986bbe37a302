// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
import WatchdogLinux

/// The current time, and the local time at any instant.
public struct LocalTime: Sendable {
    /// The current time.
    public let now: Timestamp
    private let zone: @Sendable (Timestamp) -> LocalZone

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - zone: returns the local time zone at a time.
    public init(now: Timestamp, zone: @escaping @Sendable (Timestamp) -> LocalZone = { _ in .utc }) {
        self.now = now
        self.zone = zone
    }

    /// The machine's clock and time zone.
    public static func current() -> LocalTime {
        LocalTime(now: .now()) { .current(at: $0.seconds) }
    }

    /// `2026-11-21 01:43:17 UTC`.
    func date(_ time: Timestamp) -> String { zone(time).text(WallTime(seconds: time.seconds)) }

    /// `2h ago`; `in 5s` for a time in the future.
    func distance(_ time: Timestamp) -> String {
        let ago = now - time
        return ago >= .zero ? "\(ago.coarse) ago" : "in \((.zero - ago).coarse)"
    }
}

extension Timestamp {
    fileprivate var seconds: Int64 {
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
