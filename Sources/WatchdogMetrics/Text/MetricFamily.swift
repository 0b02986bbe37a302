// SPDX-License-Identifier: Apache-2.0

/// Series with the same name and meaning.
public struct MetricFamily: Hashable, Sendable {
    /// What the values of a family mean.
    public enum Kind: String, Hashable, Sendable {
        /// Only grows, until the program starts again.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts durations in buckets.
        case histogram
    }

    /// The name, with its unit.
    public let name: String
    /// What the values mean.
    public let kind: Kind
    /// One sentence for people.
    public let help: String

    /// Creates a family.
    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }
}
