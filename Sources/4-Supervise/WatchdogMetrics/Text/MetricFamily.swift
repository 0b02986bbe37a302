// SPDX-License-Identifier: Apache-2.0

/// Series with the same name and meaning.
public struct MetricFamily: Hashable, Sendable {
    /// The type of a family's values.
    public enum Kind: String, Hashable, Sendable {
        /// Only increases, until the daemon restarts.
        case counter
        /// Increases and decreases.
        case gauge
        /// Counts durations in buckets.
        case histogram
    }

    /// The name, with its unit.
    public let name: String
    /// The type of the values.
    public let kind: Kind
    /// The help text: one sentence for people.
    public let help: String

    /// Creates a family; the name must be valid in the exposition format.
    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }
}
