// SPDX-License-Identifier: Apache-2.0

/// A part of a line that knows its place in the file, even if the line is continued over several lines.
struct SourceText {
    /// A line of the file, or one part of a continued line.
    struct Piece {
        /// Where it starts in the whole.
        let offset: Int
        /// Where it starts in the file.
        let position: SourcePosition
    }

    private let line: [UInt8]
    private let pieces: [Piece]
    private let range: Range<Int>

    init(line: [UInt8], pieces: [Piece]) {
        self.init(line, pieces, line.indices)
    }

    private init(_ line: [UInt8], _ pieces: [Piece], _ range: Range<Int>) {
        self.line = line
        self.pieces = pieces
        self.range = range
    }

    var count: Int { range.count }
    var isEmpty: Bool { range.isEmpty }
    var bytes: ArraySlice<UInt8> { line[range] }
    var string: String { String(decoding: bytes, as: UTF8.self) }

    /// The byte at an offset from the start of this text.
    subscript(offset: Int) -> UInt8 { line[range.lowerBound + offset] }

    /// A part, whose own offsets start at 0.
    subscript(part: Range<Int>) -> SourceText {
        SourceText(line, pieces, (range.lowerBound + part.lowerBound)..<(range.lowerBound + part.upperBound))
    }

    func from(_ offset: Int) -> SourceText { self[offset..<count] }

    func firstIndex(of byte: UInt8) -> Int? {
        bytes.firstIndex(of: byte).map { $0 - range.lowerBound }
    }

    /// Without the blanks at both ends.
    var trimmed: SourceText {
        guard let first = bytes.firstIndex(where: { !$0.isBlank }), let last = bytes.lastIndex(where: { !$0.isBlank })
        else { return SourceText(line, pieces, range.lowerBound..<range.lowerBound) }
        return SourceText(line, pieces, first..<(last + 1))
    }

    /// The place in the file of the byte at an offset.
    func position(at offset: Int) -> SourcePosition {
        let index = range.lowerBound + offset
        // A binary search for the last piece that starts here or earlier: there may be half a million.
        var (first, end) = (0, pieces.count)
        while end - first > 1 {
            let middle = (first + end) / 2
            if pieces[middle].offset <= index { first = middle } else { end = middle }
        }
        let start = pieces[first].position
        return SourcePosition(file: start.file, line: start.line, byte: start.byte + index - pieces[first].offset)
    }
}

extension UInt8 {
    /// Characters that separate words: systemd's `WHITESPACE`.
    var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0a || self == 0x0d }
    var isDigit: Bool { (0x30...0x39).contains(self) }
    var isLetter: Bool { (0x41...0x5a).contains(self) || (0x61...0x7a).contains(self) }
}

/// A problem in a value, by offset from its start.
struct ValueError: Error {
    var message: String
    var offset = 0
    var length = 1
    var suggestion: String?
}
