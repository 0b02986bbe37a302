// SPDX-License-Identifier: Apache-2.0

/// A value that is seldom there: it takes a word of what holds it, and memory of its own only while it is there.
@propertyWrapper
struct Boxed<Value> {
    fileprivate indirect enum Storage {
        case value(Value)
    }

    private var storage: Storage?

    init(wrappedValue: Value?) {
        self.wrappedValue = wrappedValue
    }

    var wrappedValue: Value? {
        get {
            guard case .value(let value) = storage else { return nil }
            return value
        }
        set { storage = newValue.map { .value($0) } }
    }
}

extension Boxed.Storage: Sendable where Value: Sendable {}
extension Boxed: Sendable where Value: Sendable {}

extension Boxed: Equatable where Value: Equatable {
    static func == (left: Boxed, right: Boxed) -> Bool { left.wrappedValue == right.wrappedValue }
}

extension Boxed: Encodable where Value: Encodable {
    func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension Boxed: Decodable where Value: Decodable {
    init(from decoder: any Decoder) throws { self.init(wrappedValue: try Value?(from: decoder)) }
}
