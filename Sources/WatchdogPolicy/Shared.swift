// SPDX-License-Identifier: Apache-2.0

/// A value that is kept once, however many copies there are of what holds it; one that is changed parts from the others.
@propertyWrapper
public struct Shared<Value: Sendable>: Sendable {
    @usableFromInline
    final class Storage: Sendable {
        @usableFromInline let value: Value

        @usableFromInline
        init(_ value: Value) {
            self.value = value
        }
    }

    @usableFromInline var storage: Storage

    /// Keeps a value.
    public init(wrappedValue: Value) {
        storage = Storage(wrappedValue)
    }

    /// The value; a look at a part of it does not copy the rest.
    @inlinable
    public var wrappedValue: Value {
        get { storage.value }
        set { storage = Storage(newValue) }
    }

    /// What another can hold to share the value.
    public var projectedValue: Shared {
        get { self }
        set { self = newValue }
    }

    /// Holds the same copy as another that has the same value; a value of its own stays as it is.
    public mutating func share(with other: Shared) where Value: Equatable {
        if self == other { self = other }
    }

    /// Whether both hold the same copy, and not merely equal ones.
    public func isSameCopy(as other: Shared) -> Bool { storage === other.storage }
}

extension Shared: Equatable where Value: Equatable {
    /// True for the same value, at once when it is the same copy.
    public static func == (left: Shared, right: Shared) -> Bool {
        left.isSameCopy(as: right) || left.wrappedValue == right.wrappedValue
    }
}

extension Shared: Hashable where Value: Hashable {
    /// Hashes the value as if it were kept in place.
    public func hash(into hasher: inout Hasher) { wrappedValue.hash(into: &hasher) }
}

extension Shared: Encodable where Value: Encodable {
    /// Writes the value as if it were kept in place.
    public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension Shared: Decodable where Value: Decodable {
    /// Reads a value that was kept in place.
    public init(from decoder: any Decoder) throws { self.init(wrappedValue: try Value(from: decoder)) }
}
