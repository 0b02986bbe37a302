// SPDX-License-Identifier: Apache-2.0

import Glibc
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
    ///   - zone: returns the local time zone, as it is at a time.
    public init(now: Timestamp, zone: @escaping @Sendable (Timestamp) -> LocalZone = { _ in .utc }) {
        self.now = now
        self.zone = zone
    }

    /// The machine's clock and time zone.
    public static func current() -> LocalTime {
        LocalTime(now: .now()) { .current(at: $0.seconds) }
    }

    /// `2026-11-21 01:43:17 UTC`.
    func date(_ time: Timestamp) -> String {
        let local = calendar(time)
        let year = String(Int64(local.tm_year) + 1900)
        return "\(year)-\(two(local.tm_mon + 1))-\(two(local.tm_mday)) \(clock(local)) \(zone(time).name)"
    }

    /// `Nov 21 01:43:17`, as in system logs.
    func stamp(_ time: Timestamp) -> String {
        let local = calendar(time)
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = months.indices.contains(Int(local.tm_mon)) ? months[Int(local.tm_mon)] : "???"
        return "\(month) \(two(local.tm_mday)) \(clock(local))"
    }

    /// `Nov 21 01:43:17 UTC`, for lines that stand alone.
    func zonedStamp(_ time: Timestamp) -> String { "\(stamp(time)) \(zone(time).name)" }

    /// `2h ago`; `in 5s` for a time in the future.
    func distance(_ time: Timestamp) -> String {
        let ago = now - time
        return ago >= .zero ? "\(ago.coarse) ago" : "in \((.zero - ago).coarse)"
    }

    private func calendar(_ time: Timestamp) -> tm {
        var seconds = time_t(time.seconds &+ Int64(zone(time).utcOffset))
        var result = tm()
        gmtime_r(&seconds, &result)
        return result
    }

    private func clock(_ time: tm) -> String {
        "\(two(time.tm_hour)):\(two(time.tm_min)):\(two(time.tm_sec))"
    }

    private func two(_ number: Int32) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}

extension Timestamp {
    fileprivate var seconds: Int64 {
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
