// SPDX-License-Identifier: Apache-2.0

/// The last lines that the app has printed.
public struct LogDetails: Codable, Equatable, Sendable {
    /// Where they were read.
    public enum Source: String, Codable, Sendable {
        /// From the journal.
        case journal
        /// From the file that the app printed to.
        case file
    }

    /// One line.
    public struct Line: Codable, Equatable, Sendable {
        /// When it was printed, in microseconds since 1970; absent when that is not known.
        public var microseconds: Int64?
        /// The line, secrets replaced, safe for a terminal.
        public var text: String

        /// Creates a line.
        public init(microseconds: Int64? = nil, text: String) {
            self.microseconds = microseconds
            self.text = text
        }
    }

    /// Where they were read.
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
    /// The same with secrets replaced, safe for terminals, and cut to what a report holds.
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

    /// The lines as a report shows them, each behind a time or a bar: no line of the app can pass for another part of it.
    func shown(utcOffset: Int32) -> [(time: String?, text: String)] {
        lines.map { line in
            let time = line.microseconds.map { number in
                // Years 1 to 9999, as far as a time is shown: a file can hold any number.
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
