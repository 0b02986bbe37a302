// SPDX-License-Identifier: Apache-2.0

/// A value that is rarely present: it takes one word in its holder, and other memory only while it is present.
@propertyWrapper
public struct Boxed<Value> {
    @usableFromInline
    final class Storage {
        @usableFromInline let value: Value

        @usableFromInline
        init(_ value: Value) {
            self.value = value
        }
    }

    @usableFromInline var storage: Storage?

    /// Boxes a value, if there is one.
    @inlinable
    public init(wrappedValue: Value?) {
        storage = wrappedValue.map { Storage($0) }
    }

    /// The value; nil if there is none.
    @inlinable
    public var wrappedValue: Value? {
        get { storage?.value }
        set { storage = newValue.map { Storage($0) } }
    }

    /// The box itself, which can be moved without its value.
    @inlinable
    public var projectedValue: Boxed {
        get { self }
        set { self = newValue }
    }

    /// Whether there is no value; checked without reading it.
    @inlinable
    public var isEmpty: Bool { storage == nil }

    /// The value, in place, or a stand-in.
    @inlinable
    public subscript(default standIn: Value) -> Value {
        _read {
            if let storage {
                yield storage.value
            } else {
                yield standIn
            }
        }
    }
}

extension Boxed: Sendable where Value: Sendable {}

extension Boxed.Storage: Sendable where Value: Sendable {}

extension Boxed: Equatable where Value: Equatable {
    /// Compares identity first, which is immediate for the same copy.
    @inlinable
    public static func == (left: Boxed, right: Boxed) -> Bool {
        left.storage === right.storage || left.wrappedValue == right.wrappedValue
    }

    /// Whether there is another value, or none; compared in place.
    @inlinable
    public func isDifferent(from value: Value) -> Bool { storage.map { $0.value != value } ?? true }
}

extension Boxed: Hashable where Value: Hashable {
    /// Hashes the value.
    @inlinable
    public func hash(into hasher: inout Hasher) { wrappedValue.hash(into: &hasher) }
}

extension Boxed: Encodable where Value: Encodable {
    /// Encodes the value, as if there were no box.
    public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension Boxed: Decodable where Value: Decodable {
    /// Decodes a value that was encoded without a box.
    public init(from decoder: any Decoder) throws { self.init(wrappedValue: try Value?(from: decoder)) }
}
