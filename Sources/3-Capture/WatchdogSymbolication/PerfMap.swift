// SPDX-License-Identifier: Apache-2.0

/// The functions in a process's perf map, which its JIT compiler writes.
///
/// The format is a convention of perf(1), tools/perf/Documentation/jit-interface.txt of the kernel: each line has a
/// start, a size and a name, the numbers in hexadecimal. Runtimes reuse addresses and never delete a line, so the last
/// line with an address wins. The file is untrusted: malformed lines are skipped.
struct PerfMap {
    /// The maximum number of bytes to read, from the end of the file.
    static let byteLimit = 32 << 20
    /// The maximum number of functions to keep, from the end of the file.
    static let functionLimit = 1 << 19
    /// A longer line is skipped.
    static let lineLimit = 8192

    /// A function and the range of its name in ``bytes``.
    private struct Line {
        var start: UInt64
        var end: UInt64
        var name: Range<Int>
    }

    /// An address range of one line.
    private struct Segment {
        var range: Range<UInt64>
        /// Index into ``lines``.
        var line: Int
    }

    private let bytes: [UInt8]
    private let program: String
    /// The lines, the last one of the file first.
    private let lines: [Line]
    /// In ascending order, without overlap.
    private let segments: [Segment]
    /// Whether older lines of the file were dropped.
    let isCut: Bool

    /// Parses a perf map.
    ///
    /// - Parameters:
    ///   - bytes: the file, or its end.
    ///   - isEnd: whether the file has more before `bytes`.
    ///   - program: the name of the executable, which tells languages with similar lines apart.
    ///   - limit: the maximum number of functions to keep.
    ///   - ranges: generated code, in ascending order and without overlap; lines about anything else are skipped.
    init(
        _ bytes: [UInt8], isEnd: Bool = false, program: String = "", limit: Int = functionLimit,
        of ranges: [Range<UInt64>]
    ) {
        var lines: [Line] = []
        var isCut = isEnd
        bytes.withUnsafeBufferPointer { bytes in
            // The bytes after the last newline are still being written; if this is only the end of the file, those
            // before the first newline are an incomplete line.
            var end = bytes.lastIndex(of: Self.newline) ?? 0
            while end > 0 {
                let newline = bytes[..<end].lastIndex(of: Self.newline)
                if newline == nil, isEnd { break }
                let start = newline.map { $0 + 1 } ?? 0
                if let line = Self.line(bytes, start..<end), Self.contains(line.start, ranges) {
                    guard lines.count < limit else {
                        isCut = true
                        break
                    }
                    lines.append(line)
                }
                end = newline ?? 0
            }
        }
        self.bytes = bytes
        self.program = program
        self.isCut = isCut
        self.lines = lines
        segments = Self.segments(lines)
    }

    /// The function at an address, and where it starts; nil if the map has none.
    func function(at address: UInt64) -> (start: UInt64, function: GeneratedFunction)? {
        let next = segments.partitionPoint { $0.range.lowerBound > address }
        guard next > 0, segments[next - 1].range.contains(address) else { return nil }
        let line = lines[segments[next - 1].line]
        return GeneratedFunction(bytes[line.name], program: program).map { (line.start, $0) }
    }

    // MARK: - Lines

    private static let newline = UInt8(ascii: "\n")
    private static let blank = UInt8(ascii: " ")

    private static func line(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Line? {
        guard range.count <= lineLimit, let first = bytes[range].firstIndex(of: blank),
            let second = bytes[(first + 1)..<range.upperBound].firstIndex(of: blank),
            second + 1 < range.upperBound,
            let start = number(bytes[range.lowerBound..<first]),
            let size = number(bytes[(first + 1)..<second]), size > 0
        else { return nil }
        let (end, isTooLarge) = start.addingReportingOverflow(size)
        return isTooLarge ? nil : Line(start: start, end: end, name: (second + 1)..<range.upperBound)
    }

    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
        var digits = digits
        if digits.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")]) { digits = digits.dropFirst(2) }
        guard (1...16).contains(digits.count) else { return nil }
        var value: UInt64 = 0
        for digit in digits {
            guard let nibble = Character(UnicodeScalar(digit)).hexDigitValue else { return nil }
            value = value << 4 | UInt64(nibble)
        }
        return value
    }

    private static func contains(_ address: UInt64, _ ranges: [Range<UInt64>]) -> Bool {
        let next = ranges.partitionPoint { $0.lowerBound > address }
        return next > 0 && ranges[next - 1].contains(address)
    }

    // MARK: - Overlaps

    /// Assigns addresses to lines: of overlapping lines, the one with the lowest index wins.
    private static func segments(_ lines: [Line]) -> [Segment] {
        let order = lines.indices.sorted { lines[$0].start < lines[$1].start }[...]
        var rest = order
        var open = LowestFirst()
        var position: UInt64 = 0
        var segments: [Segment] = []
        while !rest.isEmpty || open.first != nil {
            if open.first == nil, let next = rest.first { position = lines[next].start }
            while let next = rest.first, lines[next].start <= position {
                open.insert(next)
                rest.removeFirst()
            }
            while let line = open.first, lines[line].end <= position { open.removeFirst() }
            guard let line = open.first else { continue }
            let end = min(lines[line].end, rest.first.map { lines[$0].start } ?? .max)
            if let last = segments.last, last.line == line, last.range.upperBound == position {
                segments[segments.count - 1].range = last.range.lowerBound..<end
            } else {
                segments.append(Segment(range: position..<end, line: line))
            }
            position = end
        }
        return segments
    }
}

/// A min-heap of integers.
private struct LowestFirst {
    private var elements: [Int] = []

    var first: Int? { elements.first }

    mutating func insert(_ element: Int) {
        elements.append(element)
        var index = elements.count - 1
        while index > 0, elements[index] < elements[(index - 1) / 2] {
            elements.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard let last = elements.popLast(), !elements.isEmpty else { return }
        elements[0] = last
        var index = 0
        while true {
            let children = (2 * index + 1)..<min(2 * index + 3, max(2 * index + 1, elements.count))
            guard let lowest = children.min(by: { elements[$0] < elements[$1] }), elements[lowest] < elements[index]
            else { return }
            elements.swapAt(index, lowest)
            index = lowest
        }
    }
}
