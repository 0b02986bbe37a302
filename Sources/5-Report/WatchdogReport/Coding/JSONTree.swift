// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Any JSON value, so that parts of a damaged report can be replaced.
package enum JSONTree: Codable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case fraction(Double)
    case text(String)
    case array([JSONTree])
    case object([String: JSONTree])

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .unsigned(value)
        } else if let value = try? container.decode(Double.self) {
            self = .fraction(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONTree].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .fraction(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// The members of an object.
    package var members: [String: JSONTree] {
        get { if case .object(let members) = self { members } else { [:] } }
        set { self = .object(newValue) }
    }

    /// The text up to its last complete value, with every open bracket closed.
    ///
    /// - Parameter bytes: the beginning of a JSON text.
    static func closed(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        var end = 0
        var open: [UInt8] = []
        for token in JSONScanner(bytes) {
            switch token.kind {
            case .opening:
                open.append(UInt8(ascii: bytes[token.range.lowerBound] == UInt8(ascii: "{") ? "}" : "]"))
                end = token.range.upperBound
            case .closing:
                _ = open.popLast()
                end = token.range.upperBound
            case .comma: end = token.range.lowerBound
            case .colon, .string, .word: break
            }
        }
        return bytes[..<end] + open.reversed()
    }
}
