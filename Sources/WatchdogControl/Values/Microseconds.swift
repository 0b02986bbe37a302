// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// A duration as the interface carries it: a whole number of microseconds.
public struct Microseconds: Hashable, Comparable, Sendable, Codable {
    /// How many microseconds.
    public var count: Int64

    /// Creates a duration from its microseconds.
    public init(count: Int64) {
        self.count = count
    }

    /// Takes a duration; nanoseconds are cut.
    public init(_ duration: Duration) {
        count = duration.nanoseconds / 1_000
    }

    /// The duration.
    public var duration: Duration { .microseconds(count) }

    /// Reads a whole number.
    public init(from decoder: any Decoder) throws {
        count = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Writes a whole number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(count)
    }

    /// True when `left` is the shorter.
    public static func < (left: Microseconds, right: Microseconds) -> Bool {
        left.count < right.count
    }
}
