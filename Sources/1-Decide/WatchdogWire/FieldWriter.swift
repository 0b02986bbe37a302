// SPDX-License-Identifier: Apache-2.0

/// Builds a datagram of `KEY=VALUE` lines.
struct FieldWriter {
    private(set) var bytes: [UInt8] = []

    init() {
        // Enough for most messages, which have one line.
        bytes.reserveCapacity(64)
    }

    mutating func flag(_ key: String, _ isSet: Bool) {
        guard isSet else { return }
        line(key, "1")
    }

    mutating func number(_ key: String, _ value: (some BinaryInteger)?) {
        guard let value else { return }
        line(key, value.description)
    }

    mutating func microseconds(_ key: String, _ value: Duration?) {
        guard let value else { return }
        line(key, String(value.wholeMicroseconds))
    }

    mutating func text(_ key: String, _ value: String?, limit: Int) {
        guard let value else { return }
        line(key, value.fieldText(limit: limit))
    }

    /// Writes one line per item until the next one would make the datagram too long.
    ///
    /// - Returns: The items that did not fit.
    mutating func lines<Item>(_ key: String, _ items: ArraySlice<Item>, value: (Item) -> String) -> ArraySlice<Item> {
        var rest = items
        while let item = rest.first {
            let value = value(item)
            guard bytes.count + key.utf8.count + value.utf8.count + 2 <= Wire.Limit.datagram else { break }
            line(key, value)
            rest.removeFirst()
        }
        return rest
    }

    private mutating func line(_ key: String, _ value: String) {
        bytes.append(contentsOf: key.utf8)
        bytes.append(UInt8(ascii: "="))
        bytes.append(contentsOf: value.utf8)
        bytes.append(UInt8(ascii: "\n"))
    }
}

extension String {
    /// The text as a value, of at most `limit` bytes.
    ///
    /// Line breaks and NUL, which would end the value or invalidate the datagram, become spaces. So do tabs in values
    /// that use them as separators.
    func fieldText(limit: Int, isTabbed: Bool = false) -> String {
        let clean = utf8.lazy.map { byte in
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0: UInt8(ascii: " ")
            case UInt8(ascii: "\t") where isTabbed: UInt8(ascii: " ")
            default: byte
            }
        }
        return String(decoding: clean, as: UTF8.self).cut(toBytes: limit)
    }
}

extension Duration {
    /// Microseconds rounded up, so that a positive duration never becomes zero; within 1...`Int64.max`.
    var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, carry) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let part = (attoseconds + (attoseconds > 0 ? 999_999_999_999 : 0)) / 1_000_000_000_000
        let (sum, overflow) = scaled.addingReportingOverflow(part)
        guard !carry, !overflow else { return seconds < 0 ? 1 : .max }
        return max(1, sum)
    }
}

extension String {
    /// The longest beginning of at most `limit` bytes that ends at a scalar boundary.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit))
        while end.samePosition(in: unicodeScalars) == nil {
            end = utf8.index(before: end)
        }
        return String(self[..<end])
    }
}
