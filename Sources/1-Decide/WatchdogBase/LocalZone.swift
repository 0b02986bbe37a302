// SPDX-License-Identifier: Apache-2.0

/// The time zone of a reader at some moment: its difference from UTC, and what it is called then.
public struct LocalZone: Hashable, Sendable {
    /// Seconds east of UTC.
    public let utcOffset: Int32
    /// `UTC`, `JST`, or, where a zone has no letters, `+0545`.
    public let name: String

    /// UTC.
    public static let utc = LocalZone(utcOffset: 0)

    /// Creates a zone.
    ///
    /// - Parameter abbreviation: its letters, as in `JST`; anything else is replaced by the difference from UTC.
    public init(utcOffset: Int32, abbreviation: String? = nil) {
        self.utcOffset = utcOffset
        // glibc takes the first letters of an unknown zone for the name of UTC.
        if utcOffset == 0 {
            name = "UTC"
        } else if let abbreviation, (3...5).contains(abbreviation.utf8.count),
            abbreviation.utf8.allSatisfy({ (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) })
        {
            name = abbreviation
        } else {
            name = String(WallTime(seconds: 0, utcOffset: utcOffset).text(fractionDigits: 0).suffix(5))
        }
    }

    /// The time there, and the zone: `2026-11-21 09:20:22 JST`, the form of every time that watchdogd prints for people.
    public func text(_ time: WallTime) -> String { "\(date(time)) \(name)" }

    /// The date and time of day there: `2026-11-21 09:20:22`, where the zone is named beside it.
    public func date(_ time: WallTime) -> String {
        String(WallTime(seconds: time.seconds, utcOffset: utcOffset).text(fractionDigits: 0).prefix(19))
    }
}
