// SPDX-License-Identifier: Apache-2.0

/// Tells intervals of the same name apart when they overlap.
public struct SignpostID: Hashable, Sendable {
    /// The number that travels.
    public let rawValue: UInt64

    /// For intervals of which there is one at a time.
    public static let exclusive = SignpostID(rawValue: 0)

    private static let last = Locked<UInt64>(0)

    /// Creates an identifier that no other in this process equals.
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
