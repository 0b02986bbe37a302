// SPDX-License-Identifier: Apache-2.0

/// A value that is stored once, no matter how many copies of its holders exist; modifying one holder separates it from
/// the others.
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

    /// Stores a value.
    public init(wrappedValue: Value) {
        storage = Storage(wrappedValue)
    }

    /// The value; reading a part of it does not copy the rest.
    @inlinable
    public var wrappedValue: Value {
        get { storage.value }
        set { storage = Storage(newValue) }
    }

    /// The wrapper itself, with which another holder can share the value.
    public var projectedValue: Shared {
        get { self }
        set { self = newValue }
    }

    /// Shares another holder's storage if both values are equal; otherwise nothing changes.
    public mutating func share(with other: Shared) where Value: Equatable {
        if self == other { self = other }
    }

    /// Whether both holders share the same storage, and do not merely have equal values.
    public func isSameCopy(as other: Shared) -> Bool { storage === other.storage }
}

extension Shared: Equatable where Value: Equatable {
    /// Whether the values are equal; immediately true if the storage is shared.
    public static func == (left: Shared, right: Shared) -> Bool {
        left.isSameCopy(as: right) || left.wrappedValue == right.wrappedValue
    }
}

extension Shared: Hashable where Value: Hashable {
    /// Hashes the value as if it were stored inline.
    public func hash(into hasher: inout Hasher) { wrappedValue.hash(into: &hasher) }
}

extension Shared: Encodable where Value: Encodable {
    /// Encodes the value as if it were stored inline.
    public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension Shared: Decodable where Value: Decodable {
    /// Decodes a value that was stored inline.
    public init(from decoder: any Decoder) throws { self.init(wrappedValue: try Value(from: decoder)) }
}
