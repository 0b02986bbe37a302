// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The position of a byte in a file, by line.
struct SourcePosition: Hashable, Comparable {
    /// The index of the file in the app's list.
    let file: Int
    /// Line, counted from 0.
    let line: Int
    /// Byte within the line, counted from 0.
    let byte: Int

    static func < (left: SourcePosition, right: SourcePosition) -> Bool {
        (left.file, left.line, left.byte) < (right.file, right.line, right.byte)
    }
}

/// A file's bytes, split into lines.
struct SourceFile {
    let path: String
    let bytes: [UInt8]
    /// Without the line ends, LF or CR LF.
    let lines: [Range<Int>]

    init(_ file: ConfigurationFile) {
        path = file.path
        bytes = file.contents
        // Skip a byte order mark, as systemd does.
        let start = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        var lines: [Range<Int>] = []
        var begin = start
        while begin < bytes.count {
            let end = bytes[begin...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let isCarriageReturned = end > begin && bytes[end - 1] == UInt8(ascii: "\r")
            lines.append(begin..<(isCarriageReturned ? end - 1 : end))
            begin = end + 1
        }
        self.lines = lines
    }

    func place(_ position: SourcePosition) -> ConfigurationPlace {
        let line = line(position.line)
        let before = bytes[line.lowerBound..<min(line.lowerBound + position.byte, line.upperBound)]
        return ConfigurationPlace(file: path, line: position.line + 1, column: before.scalarCount + 1)
    }

    /// The part of the line around a place that fits on a terminal.
    func excerpt(_ position: SourcePosition, length: Int) -> ConfigurationDiagnostic.Excerpt {
        let line = line(position.line)
        let place = min(line.lowerBound + position.byte, line.upperBound)
        let marked = place..<min(line.upperBound, place + length)
        // 100 scalars take at most 400 bytes.
        let before = String(decoding: bytes[max(line.lowerBound, place - 400)..<place], as: UTF8.self).unicodeScalars
        let after = String(decoding: bytes[place..<min(line.upperBound, place + 400)], as: UTF8.self).unicodeScalars
        let isCutBefore = before.count > 60 || place - line.lowerBound > 400
        let isCutAfter = after.count > 60 || line.upperBound - place > 400
        let count = min(bytes[marked].scalarCount, 60)
        // What is not safe for a terminal is shown in more columns than it has in the file.
        let head = (isCutBefore ? "…" : "") + Self.shown(isCutBefore ? before.suffix(60) : before[...])
        let middle = Self.shown(after.prefix(count))
        let tail = Self.shown(after.prefix(60).dropFirst(count)) + (isCutAfter ? "…" : "")
        return ConfigurationDiagnostic.Excerpt(
            text: head + middle + tail, caret: head.unicodeScalars.count, length: max(1, middle.unicodeScalars.count))
    }

    private static func shown(_ scalars: Substring.UnicodeScalarView) -> String {
        Substring(scalars).replacing("\t", with: " ").singleLine()
    }

    private func line(_ number: Int) -> Range<Int> {
        lines.indices.contains(number) ? lines[number] : bytes.count..<bytes.count
    }
}

extension ArraySlice<UInt8> {
    /// The number of Unicode scalars, provided that the bytes are UTF-8.
    fileprivate var scalarCount: Int {
        reduce(into: 0) { count, byte in
            if byte & 0xc0 != 0x80 { count += 1 }
        }
    }
}
