// SPDX-License-Identifier: Apache-2.0

/// A line that a program has printed.
public struct PrintedLine: Hashable, Sendable {
    /// When it was printed, in microseconds since 1970; nil when that is not known.
    public var microseconds: Int64?
    /// The line without its end; what is not UTF-8 is replaced by U+FFFD.
    ///
    /// Not to be trusted.
    public var text: String

    /// Creates a line.
    public init(microseconds: Int64? = nil, text: String) {
        self.microseconds = microseconds
        self.text = text
    }
}
