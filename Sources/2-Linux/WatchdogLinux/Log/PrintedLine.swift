// SPDX-License-Identifier: Apache-2.0

/// A line that a program printed.
public struct PrintedLine: Hashable, Sendable {
    /// When the line was printed, in microseconds since 1970; nil if unknown.
    public var microseconds: Int64?
    /// The line without its terminator; invalid UTF-8 is replaced by U+FFFD.
    ///
    /// Untrusted.
    public var text: String

    /// Creates a line.
    public init(microseconds: Int64? = nil, text: String) {
        self.microseconds = microseconds
        self.text = text
    }
}
