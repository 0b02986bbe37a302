// SPDX-License-Identifier: Apache-2.0

/// Reads what ``StateEncoder`` wrote; throws for anything else, and never reads outside the bytes.
struct StateDecoder {
    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try bytes.withUnsafeBytes { buffer in
            let input = Input(bytes: buffer)
            return try input.value(type, at: 0)
        }
    }
}

extension StateDecoder {
    fileprivate struct Damage: Error {}

    /// The encoded bytes; a position outside them is damage.
    fileprivate struct Input {
        let bytes: UnsafeRawBufferPointer

        func number<Number: FixedWidthInteger>(_ type: Number.Type, at position: Int) throws -> Number {
            guard position >= 0, bytes.count - position >= MemoryLayout<Number>.size else { throw Damage() }
            return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: Number.self))
        }

        func tag(at position: Int) throws -> StateTag {
            guard let tag = StateTag(rawValue: try number(UInt8.self, at: position)) else { throw Damage() }
            return tag
        }

        /// The contents of a text, list or structure.
        func contents(_ tag: StateTag, at position: Int) throws -> Range<Int> {
            guard try self.tag(at: position) == tag else { throw Damage() }
            let length = Int(try number(UInt32.self, at: position + 1))
            guard length <= bytes.count - position - 5 else { throw Damage() }
            return position + 5..<position + 5 + length
        }

        /// Where the value at a position ends and the next one begins.
        func end(of position: Int) throws -> Int {
            switch try tag(at: position) {
            case .none, .no, .yes: position + 1
            case .byte: position + 2
            case .integer, .unsigned, .real: position + 9
            case .duration: position + 17
            case .text: try contents(.text, at: position).upperBound
            case .list: try contents(.list, at: position).upperBound
            case .structure: try contents(.structure, at: position).upperBound
            }
        }

        func isNone(at position: Int) throws -> Bool { try tag(at: position) == .none }

        func bool(at position: Int) throws -> Bool {
            switch try tag(at: position) {
            case .yes: true
            case .no: false
            default: throw Damage()
            }
        }

        func integer<Number: FixedWidthInteger>(_ type: Number.Type, at position: Int) throws -> Number {
            let number: Number? =
                switch try tag(at: position) {
                case .byte: Number(exactly: try self.number(Int8.self, at: position + 1))
                case .integer: Number(exactly: try self.number(Int64.self, at: position + 1))
                case .unsigned: Number(exactly: try self.number(UInt64.self, at: position + 1))
                default: nil
                }
            guard let number else { throw Damage() }
            return number
        }

        func real(at position: Int) throws -> Double {
            guard try tag(at: position) == .real else { throw Damage() }
            return Double(bitPattern: try number(UInt64.self, at: position + 1))
        }

        func text(at position: Int) throws -> String {
            let range = try contents(.text, at: position)
            guard let text = String(validating: bytes[range], as: UTF8.self) else { throw Damage() }
            return text
        }

        func duration(at position: Int) throws -> Duration {
            guard try tag(at: position) == .duration else { throw Damage() }
            let low = try number(UInt64.self, at: position + 1)
            let high = try number(Int64.self, at: position + 9)
            return Duration(attoseconds: Int128(high) << 64 | Int128(low))
        }

        func value<Value: Decodable>(_ type: Value.Type, at position: Int) throws -> Value {
            if type == Duration.self { return unsafeBitCast(try duration(at: position), to: Value.self) }
            return try Value(from: Source(input: self, position: position))
        }
    }

    /// Decodes the value at one position.
    fileprivate struct Source: Decoder {
        let input: Input
        let position: Int
        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
            KeyedDecodingContainer(Fields<Key>(input, try input.contents(.structure, at: position)))
        }
        func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
            Elements(input, try input.contents(.list, at: position))
        }
        func singleValueContainer() -> any SingleValueDecodingContainer { Single(input: input, position: position) }
    }
}

extension StateDecoder {
    fileprivate final class Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
        private let input: Input
        private let range: Range<Int>
        /// Where the next search starts: at the last requested field, because the next request is usually that field or
        /// its successor.
        private var next: Int

        init(_ input: Input, _ range: Range<Int>) {
            self.input = input
            self.range = range
            next = range.lowerBound
        }

        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] {
            var keys: [Key] = []
            var position = range.lowerBound
            while position < range.upperBound, let field = try? field(at: position) {
                if let key = Key(stringValue: String(decoding: field.name, as: UTF8.self)) { keys.append(key) }
                position = field.end
            }
            return keys
        }

        private func field(at position: Int) throws -> (name: Slice<UnsafeRawBufferPointer>, value: Int, end: Int) {
            let start = position + 1
            let value = start + Int(try input.number(UInt8.self, at: position))
            guard value < range.upperBound else { throw Damage() }
            let end = try input.end(of: value)
            guard end <= range.upperBound else { throw Damage() }
            return (input.bytes[start..<value], value, end)
        }

        /// The position of a field's value; nil if there is no such field.
        private func find(_ key: Key) throws -> Int? {
            let name = key.stringValue.utf8
            for part in [next..<range.upperBound, range.lowerBound..<next] {
                var position = part.lowerBound
                while position < part.upperBound {
                    let field = try field(at: position)
                    if field.name.elementsEqual(name) {
                        next = position
                        return field.value
                    }
                    position = field.end
                }
            }
            return nil
        }

        private func value(of key: Key) throws -> Int {
            guard let position = try find(key) else { throw Damage() }
            return position
        }

        func contains(_ key: Key) -> Bool { (try? find(key)) != nil }
        func decodeNil(forKey key: Key) throws -> Bool { try input.isNone(at: value(of: key)) }
        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try input.bool(at: value(of: key)) }
        func decode(_ type: String.Type, forKey key: Key) throws -> String { try input.text(at: value(of: key)) }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try input.value(type, at: value(of: key))
        }
        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try Source(input: input, position: value(of: key)).container(keyedBy: type)
        }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try Source(input: input, position: value(of: key)).unkeyedContainer()
        }
        func superDecoder() throws -> any Decoder { throw Damage() }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw Damage() }
    }

    fileprivate struct Elements: UnkeyedDecodingContainer {
        private let input: Input
        private let end: Int
        private var position: Int
        private(set) var currentIndex = 0

        init(_ input: Input, _ range: Range<Int>) {
            self.input = input
            (position, end) = (range.lowerBound, range.upperBound)
        }

        var codingPath: [any CodingKey] { [] }
        var count: Int? { nil }
        var isAtEnd: Bool { position >= end }

        /// Returns the position of the next element and moves past it.
        private mutating func step() throws -> Int {
            guard !isAtEnd else { throw Damage() }
            let value = position
            position = try input.end(of: value)
            guard position <= end else { throw Damage() }
            currentIndex += 1
            return value
        }

        mutating func decodeNil() throws -> Bool {
            guard !isAtEnd else { throw Damage() }
            guard try input.isNone(at: position) else { return false }
            _ = try step()
            return true
        }
        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try input.value(type, at: step()) }
        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try Source(input: input, position: step()).container(keyedBy: type)
        }
        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try Source(input: input, position: step()).unkeyedContainer()
        }
        mutating func superDecoder() throws -> any Decoder { throw Damage() }
    }

    fileprivate struct Single: SingleValueDecodingContainer {
        let input: Input
        let position: Int
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { (try? input.isNone(at: position)) ?? false }
        func decode(_ type: Bool.Type) throws -> Bool { try input.bool(at: position) }
        func decode(_ type: String.Type) throws -> String { try input.text(at: position) }
        func decode(_ type: Double.Type) throws -> Double { try input.real(at: position) }
        func decode(_ type: Float.Type) throws -> Float { Float(try input.real(at: position)) }
        func decode(_ type: Int.Type) throws -> Int { try input.integer(type, at: position) }
        func decode(_ type: Int8.Type) throws -> Int8 { try input.integer(type, at: position) }
        func decode(_ type: Int16.Type) throws -> Int16 { try input.integer(type, at: position) }
        func decode(_ type: Int32.Type) throws -> Int32 { try input.integer(type, at: position) }
        func decode(_ type: Int64.Type) throws -> Int64 { try input.integer(type, at: position) }
        func decode(_ type: UInt.Type) throws -> UInt { try input.integer(type, at: position) }
        func decode(_ type: UInt8.Type) throws -> UInt8 { try input.integer(type, at: position) }
        func decode(_ type: UInt16.Type) throws -> UInt16 { try input.integer(type, at: position) }
        func decode(_ type: UInt32.Type) throws -> UInt32 { try input.integer(type, at: position) }
        func decode(_ type: UInt64.Type) throws -> UInt64 { try input.integer(type, at: position) }
        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try input.value(type, at: position) }
    }
}
