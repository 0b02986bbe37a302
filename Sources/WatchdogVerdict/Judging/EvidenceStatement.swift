// SPDX-License-Identifier: Apache-2.0

/// One piece of evidence and its source.
public struct EvidenceStatement: Codable, Equatable, Sendable {
    /// What was measured.
    public var what: String
    /// The measured value.
    public var value: String
    /// The file and field, or the clock, that it comes from.
    public var source: String

    /// Creates a statement.
    public init(what: String, value: String, source: String) {
        self.what = what
        self.value = value
        self.source = source
    }
}
