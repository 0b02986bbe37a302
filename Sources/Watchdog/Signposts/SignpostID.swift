// SPDX-License-Identifier: Apache-2.0

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
