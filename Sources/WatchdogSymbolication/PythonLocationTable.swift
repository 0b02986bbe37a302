// SPDX-License-Identifier: Apache-2.0

/// The table from code units to lines of a Python function, `co_linetable` since CPython 3.11.
///
/// Its format: Objects/locations.md of CPython. An entry begins with a byte whose highest bit is set; its other bits are
/// a kind and how many code units the entry is about.
struct PythonLocationTable {
    private enum Kind {
        static let none: UInt8 = 15
        static let long: UInt8 = 14
        static let withoutColumns: UInt8 = 13
        static let sameLineLimit: UInt8 = 10
    }

    let bytes: ArraySlice<UInt8>
    let firstLine: Int

    /// The line of a code unit, from 1; nil if the table has none for it.
    func line(ofInstruction index: Int) -> Int? {
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
            if index < end { return kind == Kind.none || !(1...Int(Int32.max)).contains(line) ? nil : line }
            rest = rest.drop { $0 & 0x80 == 0 }
        }
        return nil
    }

    /// A number in groups of six bits, the lowest first; its lowest bit is the sign.
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
