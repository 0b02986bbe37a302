// SPDX-License-Identifier: Apache-2.0

/// The line table of a Python function: code units to lines.
struct PythonLocationTable {
    /// The encoding of the table.
    enum Format {
        /// `co_lnotab` up to CPython 3.9, Objects/lnotab_notes.txt: pairs of a byte count and a line increment that
        /// applies after those bytes.
        case changes
        /// `co_linetable` of 3.10, the same file: pairs of a byte count and a line increment that applies to those
        /// bytes.
        case ranges
        /// `co_linetable` since 3.11, Objects/locations.md: an entry begins with a byte whose highest bit is set; its
        /// other bits are the kind and the number of code units of the entry.
        case entries

        /// - Parameter version: `PY_VERSION_HEX`.
        init(version: UInt32) {
            self = version < 0x030a_0000 ? .changes : version < 0x030b_0000 ? .ranges : .entries
        }
    }

    private enum Kind {
        static let none: UInt8 = 15
        static let long: UInt8 = 14
        static let withoutColumns: UInt8 = 13
        static let sameLineLimit: UInt8 = 10
    }

    let bytes: ArraySlice<UInt8>
    let firstLine: Int
    var format = Format.entries

    /// The line of a code unit, from 1; nil if the table has none for it.
    func line(ofInstruction index: Int) -> Int? {
        switch format {
        case .changes: lineOfChanges(index)
        case .ranges: lineOfRanges(index)
        case .entries: lineOfEntries(index)
        }
    }

    private func lineOfChanges(_ index: Int) -> Int? {
        var line = firstLine
        var start = 0
        var rest = bytes
        while let count = rest.popFirst(), let change = rest.popFirst() {
            start += Int(count)
            if start > index * 2 { break }
            line &+= Int(Int8(bitPattern: change))
        }
        return Self.valid(line)
    }

    private func lineOfRanges(_ index: Int) -> Int? {
        var line = firstLine
        var end = 0
        var rest = bytes
        while let count = rest.popFirst(), let change = rest.popFirst() {
            let isWithout = change == 0x80
            if !isWithout { line &+= Int(Int8(bitPattern: change)) }
            end += Int(count)
            if index * 2 < end { return isWithout ? nil : Self.valid(line) }
        }
        return nil
    }

    private static func valid(_ line: Int) -> Int? { (1...Int(Int32.max)).contains(line) ? line : nil }

    private func lineOfEntries(_ index: Int) -> Int? {
        var line = firstLine
        var end = 0
        var rest = bytes
        while let head = rest.popFirst() {
            guard head & 0x80 != 0 else { return nil }
            let kind = head >> 3 & 0xF
            switch kind {
            case Kind.none: break
            case Kind.long, Kind.withoutColumns: line &+= Self.signed(&rest)
            case Kind.sameLineLimit...: line &+= Int(kind - Kind.sameLineLimit)
            default: break
            }
            end += Int(head & 7) + 1
            if index < end { return kind == Kind.none ? nil : Self.valid(line) }
            rest = rest.drop { $0 & 0x80 == 0 }
        }
        return nil
    }

    /// Reads a signed variable-length integer: groups of six bits, the lowest first; the lowest bit is the sign.
    private static func signed(_ rest: inout ArraySlice<UInt8>) -> Int {
        var value = 0
        var shift = 0
        while let byte = rest.popFirst() {
            value |= Int(byte & 0x3F) << shift
            shift += 6
            guard byte & 0x40 != 0, shift < 36 else { break }
        }
        return value & 1 == 0 ? value >> 1 : -(value >> 1)
    }
}
