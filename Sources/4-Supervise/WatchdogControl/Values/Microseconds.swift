// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A duration in the interface: a whole number of microseconds.
public struct Microseconds: Hashable, Comparable, Sendable, Codable {
    /// The number of microseconds.
    public var count: Int64

    /// Creates a duration from its microseconds.
    public init(count: Int64) {
        self.count = count
    }

    /// Converts a duration; nanoseconds are truncated.
    public init(_ duration: Duration) {
        count = duration.wholeMicroseconds
    }

    /// The duration.
    public var duration: Duration { .microseconds(count) }

    /// Decodes a whole number.
    public init(from decoder: any Decoder) throws {
        count = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Encodes a whole number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(count)
    }

    /// True if `left` is shorter.
    public static func < (left: Microseconds, right: Microseconds) -> Bool {
        left.count < right.count
    }
}
