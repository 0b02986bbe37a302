// SPDX-License-Identifier: Apache-2.0

/// One piece of evidence and its source.
public struct EvidenceStatement: Codable, Equatable, Sendable {
    /// The measured quantity.
    public var what: String
    /// The measured value.
    public var value: String
    /// The file and field, or the clock, of the value.
    public var source: String

    /// Creates a statement; all texts are for people.
    public init(what: String, value: String, source: String) {
        self.what = what
        self.value = value
        self.source = source
    }
}
