// SPDX-License-Identifier: Apache-2.0

/// The parser of `/proc/PID/maps`, proc(5).
package enum MapsParser {
    /// Parses lines of the form "START-END PERMS OFFSET MAJOR:MINOR INODE   PATH".
    ///
    /// - Returns: nil if a line is malformed, if the lines are not in ascending order, or if there are more than
    ///   `limit`.
    package static func parse(_ text: ArraySlice<UInt8>, limit: Int) -> [SnapshotMapping]? {
        var mappings: [SnapshotMapping] = []
        for line in text.split(separator: UInt8(ascii: "\n")) {
            guard mappings.count < limit, let mapping = mapping(line), mapping.start < mapping.end,
                mapping.start >= mappings.last?.end ?? 0
            else { return nil }
            mappings.append(mapping)
        }
        return mappings
    }

    private static func mapping(_ line: ArraySlice<UInt8>) -> SnapshotMapping? {
        var rest = line
        guard let start = number(&rest, radix: 16), skip(&rest, "-"),
            let end = number(&rest, radix: 16), skip(&rest, " "),
            rest.count >= 4
        else { return nil }
        let permissions = Array(rest.prefix(4))
        rest = rest.dropFirst(4)
        guard skip(&rest, " "), let offset = number(&rest, radix: 16),
            skip(&rest, " "), let major = number(&rest, radix: 16).flatMap(UInt32.init(exactly:)),
            skip(&rest, ":"), let minor = number(&rest, radix: 16).flatMap(UInt32.init(exactly:)),
            skip(&rest, " "), let inode = number(&rest, radix: 10)
        else { return nil }
        return SnapshotMapping(
            start: start,
            end: end,
            isReadable: permissions[0] == UInt8(ascii: "r"),
            isWritable: permissions[1] == UInt8(ascii: "w"),
            isExecutable: permissions[2] == UInt8(ascii: "x"),
            offset: offset,
            deviceMajor: major,
            deviceMinor: minor,
            inode: inode,
            path: String(decoding: rest.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
        )
    }

    private static func skip(_ rest: inout ArraySlice<UInt8>, _ byte: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: byte) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func number(_ rest: inout ArraySlice<UInt8>, radix: UInt64) -> UInt64? {
        var value: UInt64 = 0
        var digits = 0
        while let byte = rest.first, let digit = digit(byte), digit < radix {
            let (product, overflow) = value.multipliedReportingOverflow(by: radix)
            let (sum, carry) = product.addingReportingOverflow(digit)
            guard !overflow, !carry else { return nil }
            value = sum
            digits += 1
            rest = rest.dropFirst()
        }
        return digits > 0 ? value : nil
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a")) + 10
        default: nil
        }
    }
}
