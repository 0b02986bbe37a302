// SPDX-License-Identifier: Apache-2.0

/// The `KEY=VALUE` lines of one hostile datagram.
///
/// The rules are those of systemd's manager_dispatch_notify_fd() and strv_split_newlines(), so that datagrams which
/// systemd accepts are accepted here: lines end at LF or CR, empty lines are skipped, one trailing NUL is tolerated,
/// and a NUL elsewhere or an overlong datagram invalidates all of it.
struct FieldReader {
    struct Field {
        var key: String
        var value: ArraySlice<UInt8>
    }

    private(set) var fields: [Field] = []
    /// Lines, or the whole datagram, that are not assignments.
    private(set) var malformed = 0

    init(_ datagram: some Collection<UInt8>) {
        // One byte more than the limit and its trailing NUL reveals a longer datagram.
        var bytes = Array(datagram.prefix(Wire.Limit.datagram + 2))
        if bytes.last == 0 {
            bytes.removeLast()
        }
        guard bytes.count <= Wire.Limit.datagram, !bytes.contains(0) else {
            malformed = 1
            return
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            rest = rest[line.endIndex...].dropFirst()
            if !line.isEmpty { take(line) }
        }
    }

    private mutating func take(_ line: ArraySlice<UInt8>) {
        guard let equals = line.firstIndex(of: UInt8(ascii: "=")), equals > line.startIndex else {
            malformed += 1
            return
        }
        let key = String(decoding: line[..<equals], as: UTF8.self)
        fields.append(Field(key: key, value: line[(equals + 1)...]))
    }
}

extension FieldReader.Field {
    /// Sets `flag` if the value is `1`, the only valid value of a flag.
    func raise(_ flag: inout Bool, orCount malformed: inout Int) {
        if value.elementsEqual([UInt8(ascii: "1")]) {
            flag = true
        } else {
            malformed += 1
        }
    }

    /// The value as text, with invalid UTF-8 replaced by U+FFFD, at most `limit` bytes.
    func text(limit: Int = Wire.Limit.datagram) -> String {
        String(decoding: value, as: UTF8.self).cut(toBytes: limit)
    }

    /// The value as a decimal number: nil unless it has only digits and fits the type.
    func number<T: FixedWidthInteger>(as type: T.Type = T.self) -> T? {
        guard !value.isEmpty else { return nil }
        var number: T = 0
        for byte in value {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            let (tenfold, carry) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = tenfold.addingReportingOverflow(T(byte - UInt8(ascii: "0")))
            guard !carry, !overflow else { return nil }
            number = sum
        }
        return number
    }

    func number<T: FixedWidthInteger>(in range: ClosedRange<T>) -> T? {
        number(as: T.self).flatMap { range.contains($0) ? $0 : nil }
    }

    /// A positive number of microseconds.
    var microseconds: Duration? { microseconds(in: 1...Int64.max) }

    /// A number of microseconds within bounds.
    func microseconds(in range: ClosedRange<Int64>) -> Duration? {
        number(in: range).map { .microseconds($0) }
    }
}

extension Optional {
    /// Stores a decoded value; nil stands for an invalid one, which is counted instead.
    mutating func take(_ value: Wrapped?, orCount malformed: inout Int) {
        if let value {
            self = value
        } else {
            malformed += 1
        }
    }
}

/// Takes each key once: the first assignment decides, even if its value is invalid, as in systemd's
/// strv_find_startswith().
struct FirstAssignments {
    /// Avoids a set: most datagrams have only one key.
    private var first: String?
    private var others: Set<String> = []

    mutating func admit(_ key: String) -> Bool {
        guard let first else {
            first = key
            return true
        }
        return key != first && others.insert(key).inserted
    }
}
