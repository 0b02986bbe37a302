// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The last lines that the app printed.
public struct LogDetails: Codable, Equatable, Sendable {
    /// The source of the lines.
    public enum Source: String, Codable, Sendable {
        /// From the journal.
        case journal
        /// From the file to which the app printed.
        case file
    }

    /// One line.
    public struct Line: Codable, Equatable, Sendable {
        /// The time of the line, in microseconds since 1970; absent if unknown.
        public var microseconds: Int64?
        /// The text, with secrets redacted and safe for a terminal.
        public var text: String

        /// Creates a line.
        public init(microseconds: Int64? = nil, text: String) {
            self.microseconds = microseconds
            self.text = text
        }
    }

    /// The source of the lines.
    public var source: Source
    /// The lines, oldest first.
    public var lines: [Line]

    /// Creates details from lines.
    public init(source: Source, lines: [Line]) {
        self.source = source
        self.lines = lines
    }
}

extension LogDetails {
    /// A copy with secrets redacted, safe for terminals, and cut to the report's limits.
    func sanitized() -> LogDetails {
        let last = lines.suffix(ReportLimits.logLines)
        let texts = Redaction.lines(last.map(\.text))
        return LogDetails(
            source: source,
            lines: zip(last, texts).map { line, text in
                Line(microseconds: line.microseconds, text: text.singleLine(limit: ReportLimits.lineLength))
            }
        )
    }

    /// The lines for the text report, each after a time or a bar, so that a line from the app cannot imitate another
    /// part of the report.
    package func shown(utcOffset: Int32) -> [(time: String?, text: String)] {
        lines.map { line in
            let time = line.microseconds.map { number in
                // Limited to the years 1 to 9999: a file can contain any number.
                let value = min(max(number, -62_135_596_800_000_000), 253_402_300_799_999_999)
                let seconds = value.floorDivided(by: 1_000_000)
                let nanoseconds = Int32(truncatingIfNeeded: (value - seconds * 1_000_000) * 1_000)
                let text = WallTime(seconds: seconds, nanoseconds: nanoseconds, utcOffset: utcOffset)
                    .text(fractionDigits: 3)
                return String(text.split(separator: " ")[1])
            }
            return (time, line.text)
        }
    }
}
