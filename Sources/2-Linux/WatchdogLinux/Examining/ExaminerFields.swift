// SPDX-License-Identifier: Apache-2.0

/// A message to or from an examiner: texts, each terminated by a NUL.
struct ExaminerFields: Hashable {
    /// The longest message.
    static let longest = 128 << 10

    private(set) var bytes: [UInt8] = []
    private var position = 0

    init() {}

    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// Appends a text; a NUL in it becomes U+FFFD.
    mutating func append(_ text: String) {
        if text.utf8.contains(0) {
            bytes += text.unicodeScalars.map { $0 == "\0" ? "\u{fffd}" : String($0) }.joined().utf8
        } else {
            bytes += text.utf8
        }
        bytes.append(0)
    }

    mutating func append(_ number: some BinaryInteger) { append(String(number)) }

    /// Appends a text, or a marker for a missing one.
    mutating func append(_ text: String?) {
        append(text == nil ? 0 : 1)
        if let text { append(text) }
    }

    /// The next text; nil at the end.
    mutating func text() -> String? {
        guard let end = bytes[position...].firstIndex(of: 0) else { return nil }
        defer { position = end + 1 }
        return String(decoding: bytes[position..<end], as: UTF8.self)
    }

    /// The next field as a number; nil if it is anything else.
    mutating func number<Number: FixedWidthInteger>() -> Number? { text().flatMap { Number($0) } }

    /// The next optional text; the outer nil means that the message is malformed.
    mutating func optionalText() -> String?? {
        guard let count: Int = number() else { return nil }
        return count == 0 ? .some(nil) : text().map { .some($0) }
    }

    /// A list of values that is preceded by its count; nil if a value is malformed or the count exceeds `limit`.
    mutating func list<Value>(limit: Int, _ next: (inout ExaminerFields) -> Value?) -> [Value]? {
        guard let count: Int = number(), (0...limit).contains(count) else { return nil }
        var values: [Value] = []
        for _ in 0..<count {
            guard let value = next(&self) else { return nil }
            values.append(value)
        }
        return values
    }
}
