// SPDX-License-Identifier: Apache-2.0

/// Lists what values are called when they are encoded: their types, with the names of their fields and cases, the fields
/// of a case's values (`traced.by`), and raw values in quotation marks.
final class NameRecorder {
    private(set) var names: [String: Set<String>] = [:]

    /// `TYPE: NAME, NAME, …`, sorted.
    var lines: [String] {
        names.map { type, names in "\(type): \(names.sorted().joined(separator: ", "))" }.sorted()
    }

    func record<Value: Encodable>(_ value: Value) throws {
        // These encode themselves as themselves.
        guard !(value is Bool || value is String || value is any BinaryInteger || value is Double) else { return }
        guard !(value is Duration) else { return }
        let type = Self.name(of: Value.self)
        if let raw = value as? any RawRepresentable<String>, Mirror(reflecting: value).displayStyle == .enum {
            return note("\"\(raw.rawValue)\"", of: type)
        }
        try value.encode(to: Target(recorder: self, type: type))
    }

    /// What holds another value is not named in files.
    private static func name(of type: Any.Type) -> String {
        let name = String(reflecting: type)
        let holder = "WatchdogBase.Shared<"
        return name.hasPrefix(holder) ? String(name.dropFirst(holder.count).dropLast()) : name
    }

    private func note(_ name: String, of type: String) {
        if !type.hasPrefix("Swift.") { names[type, default: []].insert(name) }
    }
}

extension NameRecorder {
    private struct Target: Encoder {
        let recorder: NameRecorder
        let type: String
        /// The case whose values are encoded, with a dot.
        var prefix = ""
        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func note(_ key: some CodingKey) { recorder.note(prefix + key.stringValue, of: type) }

        func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            KeyedEncodingContainer(Fields(target: self))
        }
        func unkeyedContainer() -> any UnkeyedEncodingContainer { Elements(target: self) }
        func singleValueContainer() -> any SingleValueEncodingContainer { Single(target: self) }
    }

    private struct Fields<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let target: Target
        var codingPath: [any CodingKey] { [] }

        func encodeNil(forKey key: Key) { target.note(key) }
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
            target.note(key)
            try target.recorder.record(value)
        }
        func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type, forKey key: Key
        ) -> KeyedEncodingContainer<NestedKey> {
            target.note(key)
            var nested = target
            nested.prefix += "\(key.stringValue)."
            return KeyedEncodingContainer(Fields<NestedKey>(target: nested))
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            target.note(key)
            return Elements(target: target)
        }
        func superEncoder() -> any Encoder { preconditionFailure("no class is kept that has a superclass") }
        func superEncoder(forKey key: Key) -> any Encoder { superEncoder() }
    }

    private struct Elements: UnkeyedEncodingContainer {
        let target: Target
        var codingPath: [any CodingKey] { [] }
        private(set) var count = 0

        init(target: Target) {
            self.target = target
        }

        mutating func encodeNil() { count += 1 }
        mutating func encode<Value: Encodable>(_ value: Value) throws {
            count += 1
            try target.recorder.record(value)
        }
        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy keyType: NestedKey.Type
        ) -> KeyedEncodingContainer<NestedKey> {
            count += 1
            return target.container(keyedBy: keyType)
        }
        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { Elements(target: target) }
        mutating func superEncoder() -> any Encoder { preconditionFailure("no class is kept that has a superclass") }
    }

    private struct Single: SingleValueEncodingContainer {
        let target: Target
        var codingPath: [any CodingKey] { [] }

        func encodeNil() {}
        func encode<Value: Encodable>(_ value: Value) throws { try target.recorder.record(value) }
    }
}
