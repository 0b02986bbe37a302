// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogBase
package import WatchdogLinux

/// Lines on file descriptor 2, each in one write so that other writers cannot split it.
public enum StandardError {
    /// The format of all messages, and the app that they are about.
    private static let style = Mutex<(format: LogFormat, app: String?)>((.text, nil))
    /// What precedes each line of text.
    private static let prefix = Mutex(Prefix())

    /// What precedes a line of text: the program's name, or the local time where only watchdogd writes.
    private struct Prefix {
        var style = TextStyle()
        var isTime = false

        private var plain: String { isTime ? LocalZone.text(.now()) : "watchdogd:" }

        /// The prefix and the lines, broken at spaces where the terminal is narrower.
        func text(_ level: LogLevel, before lines: [String], columns: Int?) -> String {
            let plain = plain
            let meaning: TextStyle.Meaning =
                switch level {
                case .error: .failure
                case .warning: .caution
                case .info: .faint
                }
            let rest = StandardError.fit(lines, behind: plain.count + 1, columns: columns)
            return style(plain, meaning) + " " + rest
        }
    }

    /// Chooses the format of all further messages.
    ///
    /// - Parameter app: named in each JSON object.
    public static func use(_ format: LogFormat, app: String?) {
        style.withLock { $0 = (format, app?.singleLine(limit: 255)) }
    }

    package static var format: LogFormat { style.withLock(\.format) }

    /// Chooses how further messages look on a terminal.
    ///
    /// - Parameters:
    ///   - isColored: whether the beginning of each message has the color of its level.
    ///   - showsTime: whether messages begin with the local time instead of `watchdogd:`.
    public static func decorate(isColored: Bool, showsTime: Bool = false) {
        prefix.withLock { $0 = Prefix(style: TextStyle(isColored: isColored), isTime: showsTime) }
    }

    /// Whether the level of a message changes what is printed.
    package static var showsLevels: Bool { format == .json || prefix.withLock(\.style.isColored) }

    /// Writes `watchdogd: TEXT` and a newline, or a JSON object; a line that cannot be written within a second is lost.
    ///
    /// - Returns: false if it was lost.
    @discardableResult
    public static func say(_ text: String, as level: LogLevel = .warning) -> Bool {
        say(text, as: level, within: .seconds(1))
    }

    /// The same without waiting, for a loop with deadlines to keep: the reader may have stopped.
    @discardableResult
    package static func mention(_ text: String, as level: LogLevel = .warning) -> Bool {
        say(text, as: level, within: .zero)
    }

    /// Writes lines that begin with the place they are about, and so without a prefix.
    public static func list(_ lines: [String]) {
        for line in lines where !say(line.singleLine(), prefix: "", within: .seconds(1)) { return }
    }

    /// Writes lines without a prefix, or as one object; lines that cannot be written immediately are lost.
    package static func show(_ lines: String) {
        guard format == .text else { return _ = say(lines, as: .info, within: .zero) }
        for line in lines.split(separator: "\n") { _ = say(line.singleLine(), prefix: "", within: .zero) }
    }

    /// Writes an entry for the journal as a line: `text`, or the entry's fields as a JSON object.
    @discardableResult
    package static func say(_ text: String, _ entry: JournalEntry?, within limit: Duration) -> Bool {
        guard let entry else { return say(text, within: limit) }
        guard format == .json else { return say(text, as: LogLevel(entry), within: limit) }
        return write(JSONLogLine(entry, app: style.withLock(\.app)).bytes, within: limit)
    }

    /// Writes a report, as it is or in several objects; it is cut where nobody reads it for a second.
    package static func print(_ report: String, incident: String) {
        let (format, app) = style.withLock(\.self)
        let parts = report.parts(bytes: format == .text ? Int(PIPE_BUF) : 1_536)
        for (index, part) in parts.enumerated() {
            let bytes =
                switch format {
                case .text: Array(part.utf8)
                case .json:
                    JSONLogLine(
                        .info, "crash log, part \(index + 1) of \(parts.count)", app: app,
                        [("incident", incident), ("text", part)]
                    ).bytes
                }
            guard write(bytes, within: .seconds(1)) else { return }
        }
    }

    /// The same with a given limit.
    @discardableResult
    package static func say(_ text: String, as level: LogLevel = .warning, within limit: Duration) -> Bool {
        let (format, app) = style.withLock(\.self)
        if format == .json { return write(JSONLogLine(level, text, app: app).bytes, within: limit) }
        // Names of files and apps may contain escape sequences for the terminal.
        let text = prefix.withLock { $0.text(level, before: text.terminalLines, columns: columns) }
        return say(text, prefix: "", within: limit)
    }

    /// The width of the terminal that messages go to; nil if it is none, or does not know.
    private static var columns: Int? {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 40 else { return nil }
        return Int(size.ws_col)
    }

    /// Lines as a terminal shows them without breaking words, the first one behind a prefix.
    static func fit(_ lines: [String], behind prefix: Int, columns: Int?) -> String {
        guard let columns else { return lines.joined(separator: "\n") }
        return lines.enumerated().map { index, line in
            let lead = String(repeating: " ", count: index == 0 ? prefix : 0)
            let indent = line.hasPrefix("  ") ? "    " : "  "
            return (lead + line).wrapped(columns: columns, indent: indent).joined(separator: "\n").dropFirst(lead.count)
        }.joined(separator: "\n")
    }

    private static func say(_ text: String, prefix: String, within limit: Duration) -> Bool {
        write(Array((prefix + text).utf8.prefix(Int(PIPE_BUF) - 1)) + [UInt8(ascii: "\n")], within: limit)
    }

    private static func write(_ bytes: [UInt8], within limit: Duration) -> Bool {
        // A pipe that poll(2) reports as writable has room for PIPE_BUF bytes: the write does not block.
        var entry = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, Int32(limit.nanoseconds / 1_000_000)) == 1, entry.revents & Int16(POLLOUT) != 0 else {
            return false
        }
        // SAFETY: the buffer outlives the call. A partial write or an error is not worth a retry that could block.
        return bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) } == bytes.count
    }
}

extension String {
    /// The text in parts of at most this many bytes that end with a line, or between two characters of a longer line.
    package func parts(bytes limit: Int) -> [String] {
        var parts: [String] = []
        var rest = utf8[...]
        while !rest.isEmpty {
            let window = rest.prefix(limit)
            var end = window.endIndex
            if end < rest.endIndex {
                if let newline = window.lastIndex(of: UInt8(ascii: "\n")) {
                    end = window.index(after: newline)
                } else {
                    while end > window.startIndex, rest[end] & 0xc0 == 0x80 { end = rest.index(before: end) }
                }
            }
            parts.append(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[end...]
        }
        return parts
    }
}
