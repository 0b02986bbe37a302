// SPDX-License-Identifier: Apache-2.0

/// A value that is rarely present: it takes one word in its holder, and other memory only while it is present.
@propertyWrapper
struct Boxed<Value: Sendable>: Sendable {
    private final class Storage: Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var storage: Storage?

    init(wrappedValue: Value?) {
        storage = wrappedValue.map { Storage($0) }
    }

    var wrappedValue: Value? {
        get { storage?.value }
        set { storage = newValue.map { Storage($0) } }
    }

    /// The box itself, which can be moved without its value.
    var projectedValue: Boxed {
        get { self }
        set { self = newValue }
    }

    /// Checked without reading the value.
    var isEmpty: Bool { storage == nil }

    /// The value, in place, or a stand-in.
    subscript(default standIn: Value) -> Value {
        _read {
            if let storage {
                yield storage.value
            } else {
                yield standIn
            }
        }
    }
}

extension Boxed: Equatable where Value: Equatable {
    /// Compares identity first, which is immediate for the same copy.
    static func == (left: Boxed, right: Boxed) -> Bool {
        left.storage === right.storage || left.wrappedValue == right.wrappedValue
    }

    func isDifferent(from value: Value) -> Bool { storage.map { $0.value != value } ?? true }
}

extension Boxed: Encodable where Value: Encodable {
    func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension Boxed: Decodable where Value: Decodable {
    init(from decoder: any Decoder) throws { self.init(wrappedValue: try Value?(from: decoder)) }
}
