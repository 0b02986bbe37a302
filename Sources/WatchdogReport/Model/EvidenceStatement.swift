// SPDX-License-Identifier: Apache-2.0

/// One piece of evidence and where it comes from.
public struct EvidenceStatement: Codable, Equatable, Sendable {
    /// What was measured.
    public var what: String
    /// What came out.
    public var value: String
    /// The file and field, or the clock, that said so.
    public var source: String

    /// Creates a statement.
    public init(what: String, value: String, source: String) {
        self.what = what
        self.value = value
        self.source = source
    }
}
