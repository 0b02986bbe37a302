// SPDX-License-Identifier: Apache-2.0

/// Encodes values compactly and quickly: it runs before each irrevocable effect.
///
/// A value is one ``StateTag`` byte followed by its contents. Structures hold their fields with names, so that fields
/// can be added; lists hold elements. Both start with their length, so that a reader can skip them.
///
/// A value must encode itself as one value, written in order: a container ends when an enclosing one continues.
/// Synthesized conformances do this.
struct StateEncoder {
    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let output = Output()
        try output.write(value)
        output.close(to: 0)
        return output.bytes
    }
}

/// The kind of a value.
enum StateTag: UInt8 {
    case none
    case no
    case yes
    /// A signed number in eight bytes, little-endian.
    case integer
    /// An unsigned number in eight bytes, little-endian.
    case unsigned
    /// A signed number in one byte.
    case byte
    /// An IEEE 754 number in eight bytes.
    case real
    /// Attoseconds in sixteen bytes, the lower half first.
    case duration
    /// A four-byte length, then that many bytes of UTF-8.
    case text
    /// A four-byte length, then the elements.
    case list
    /// A four-byte length, then the fields: a one-byte length, a name of that length, the value.
    case structure
}

extension StateEncoder {
    fileprivate final class Output {
        // Every field of every type goes through here, and nothing here calls back: checks would be a tenth of the work.
        @exclusivity(unchecked) var bytes: [UInt8] = []
        /// Positions of the length fields of open containers, outermost first.
        @exclusivity(unchecked) private var open: [Int] = []

        init() {
            bytes.reserveCapacity(4 << 10)
            open.reserveCapacity(16)
        }

        /// Opens a container and returns its level.
        func begin(_ tag: StateTag) -> Int {
            append(tag)
            open.append(bytes.count)
            append(UInt32(0))
            return open.count
        }

        /// Closes all containers deeper than a level.
        func close(to level: Int) {
            while open.count > level {
                let start = open.removeLast()
                let length = UInt32(clamping: bytes.count - start - 4).littleEndian
                withUnsafeBytes(of: length) { length in
                    for index in 0..<4 { bytes[start + index] = length[index] }
                }
            }
        }

        func append(_ tag: StateTag) { bytes.append(tag.rawValue) }

        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }

        func name(_ key: some CodingKey) {
            let name = key.stringValue.utf8
            precondition(name.count < 256, "a field's name is short")
            bytes.append(UInt8(name.count))
            bytes.append(contentsOf: name)
        }

        func write(_ value: Bool) { append(value ? .yes : .no) }

        func write(_ value: Int64) {
            guard let short = Int8(exactly: value) else {
                append(.integer)
                return append(value)
            }
            append(.byte)
            append(short)
        }

        func write(_ value: UInt64) {
            guard let value = Int64(exactly: value) else {
                append(.unsigned)
                return append(value)
            }
            write(value)
        }

        func write(_ value: Double) {
            append(.real)
            append(value.bitPattern)
        }

        func write(_ value: String) {
            append(.text)
            var value = value
            value.withUTF8 { text in
                append(UInt32(clamping: text.count))
                bytes.append(contentsOf: text)
            }
        }

        func write(_ value: Duration) {
            append(.duration)
            let parts = value.attoseconds
            append(UInt64(truncatingIfNeeded: parts))
            append(Int64(truncatingIfNeeded: parts >> 64))
        }

        func write<Value: Encodable>(_ value: Value) throws {
            // Comparing types is much faster than a cast, which would take longer than all other work here.
            if Value.self == Duration.self { return write(unsafeBitCast(value, to: Duration.self)) }
            let (level, start) = (open.count, bytes.count)
            try value.encode(to: Target(output: self))
            close(to: level)
            // A structure without fields might not request a container.
            if bytes.count == start {
                _ = begin(.structure)
                close(to: level)
            }
        }
    }

    /// Encodes one value.
    fileprivate struct Target: Encoder {
        let output: Output
        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            KeyedEncodingContainer(Fields<Key>(output: output, level: output.begin(.structure)))
        }

        func unkeyedContainer() -> any UnkeyedEncodingContainer {
            Elements(output: output, level: output.begin(.list))
        }

        func singleValueContainer() -> any SingleValueEncodingContainer {
            Single(output: output)
        }
    }
}

extension StateEncoder {
    fileprivate struct Fields<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let output: Output
        let level: Int
        var codingPath: [any CodingKey] { [] }

        private func begin(_ key: Key) {
            output.close(to: level)
            output.name(key)
        }

        func encodeNil(forKey key: Key) {
            begin(key)
            output.append(.none)
        }
        func encode(_ value: Bool, forKey key: Key) {
            begin(key)
            output.write(value)
        }
        func encode(_ value: String, forKey key: Key) {
            begin(key)
            output.write(value)
        }
        func encode(_ value: Double, forKey key: Key) {
            begin(key)
            output.write(value)
        }
        func encode(_ value: Int, forKey key: Key) { encode(Int64(value), forKey: key) }
        func encode(_ value: Int32, forKey key: Key) { encode(Int64(value), forKey: key) }
        func encode(_ value: Int64, forKey key: Key) {
            begin(key)
            output.write(value)
        }
        func encode(_ value: UInt64, forKey key: Key) {
            begin(key)
            output.write(value)
        }
        func encode(_ value: some Encodable, forKey key: Key) throws {
            begin(key)
            try output.write(value)
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type, forKey key: Key
        ) -> KeyedEncodingContainer<NestedKey> {
            begin(key)
            return Target(output: output).container(keyedBy: keyType)
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            begin(key)
            return Target(output: output).unkeyedContainer()
        }
        func superEncoder() -> any Encoder { preconditionFailure("no class is kept that has a superclass") }
        func superEncoder(forKey key: Key) -> any Encoder { superEncoder() }
    }

    fileprivate struct Elements: UnkeyedEncodingContainer {
        let output: Output
        let level: Int
        var codingPath: [any CodingKey] { [] }
        private(set) var count = 0

        init(output: Output, level: Int) {
            self.output = output
            self.level = level
        }

        private mutating func begin() {
            output.close(to: level)
            count += 1
        }

        mutating func encodeNil() {
            begin()
            output.append(.none)
        }
        mutating func encode(_ value: Int64) {
            begin()
            output.write(value)
        }
        mutating func encode(_ value: UInt64) {
            begin()
            output.write(value)
        }
        mutating func encode(_ value: String) {
            begin()
            output.write(value)
        }
        mutating func encode(_ value: some Encodable) throws {
            begin()
            try output.write(value)
        }
        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type
        ) -> KeyedEncodingContainer<NestedKey> {
            begin()
            return Target(output: output).container(keyedBy: keyType)
        }
        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            begin()
            return Target(output: output).unkeyedContainer()
        }
        mutating func superEncoder() -> any Encoder { preconditionFailure("no class is kept that has a superclass") }
    }

    fileprivate struct Single: SingleValueEncodingContainer {
        let output: Output
        var codingPath: [any CodingKey] { [] }

        func encodeNil() { output.append(.none) }
        func encode(_ value: Bool) { output.write(value) }
        func encode(_ value: String) { output.write(value) }
        func encode(_ value: Double) { output.write(value) }
        func encode(_ value: Float) { output.write(Double(value)) }
        func encode(_ value: Int) { output.write(Int64(value)) }
        func encode(_ value: Int8) { output.write(Int64(value)) }
        func encode(_ value: Int16) { output.write(Int64(value)) }
        func encode(_ value: Int32) { output.write(Int64(value)) }
        func encode(_ value: Int64) { output.write(value) }
        func encode(_ value: UInt) { output.write(UInt64(value)) }
        func encode(_ value: UInt8) { output.write(Int64(value)) }
        func encode(_ value: UInt16) { output.write(Int64(value)) }
        func encode(_ value: UInt32) { output.write(Int64(value)) }
        func encode(_ value: UInt64) { output.write(value) }
        func encode(_ value: some Encodable) throws { try output.write(value) }
    }
}
