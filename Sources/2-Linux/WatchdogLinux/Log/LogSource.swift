// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Where a program's output can be read back from.
public enum LogSource: Sendable {
    /// From the journal.
    case journal(JournalMatch)
    /// From the file that the program prints to.
    case file(LogFile)

    /// The last lines of a program's output, oldest first; empty if they cannot be read.
    ///
    /// Reads files: not for the loop's thread. Opening a large journal takes a while, and ``LogLimit/time`` starts only
    /// after that.
    public func tail(_ limit: LogLimit = LogLimit()) -> [PrintedLine] {
        switch self {
        case .journal(let match): JournalReader.tail(of: match, limit)
        case .file(let file): file.tail(limit)
        }
    }
}

/// How much of a log to read.
public struct LogLimit: Hashable, Sendable {
    /// The maximum number of lines.
    public var lines = 50
    /// The maximum number of bytes per line; the rest is cut off.
    public var lineBytes = 1_024
    /// The maximum number of bytes in total.
    public var bytes = 32 << 10
    /// The maximum time; what was read by then is the result.
    public var time = Duration.seconds(1)

    /// The limits of a crash report; change them as needed.
    public init() {}
}

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
