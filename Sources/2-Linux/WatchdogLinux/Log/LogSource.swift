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
