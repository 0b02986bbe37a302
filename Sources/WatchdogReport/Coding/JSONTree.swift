// SPDX-License-Identifier: Apache-2.0

/// Any JSON value, so that parts of a damaged report can be replaced.
enum JSONTree: Codable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case fraction(Double)
    case text(String)
    case array([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
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

    func encode(to encoder: any Encoder) throws {
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
    var members: [String: JSONTree] {
        get { if case .object(let members) = self { members } else { [:] } }
        set { self = .object(newValue) }
    }

    /// The text without what follows the last whole value, and with every bracket closed.
    ///
    /// - Parameter bytes: the beginning of a JSON text.
    static func closed(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        let end = walk(bytes) { _ in }
        var open: [UInt8] = []
        _ = walk(bytes[..<end]) { byte in
            switch byte {
            case UInt8(ascii: "{"): open.append(UInt8(ascii: "}"))
            case UInt8(ascii: "["): open.append(UInt8(ascii: "]"))
            default: _ = open.popLast()
            }
        }
        return bytes[..<end] + open.reversed()
    }

    /// Calls the body with every bracket outside a text.
    ///
    /// - Returns: where the last whole value of an array or object ends.
    private static func walk(_ bytes: some Collection<UInt8>, bracket: (UInt8) -> Void) -> Int {
        var isText = false
        var isEscaped = false
        var end = 0
        for (offset, byte) in bytes.enumerated() {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: ","): end = offset
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                bracket(byte)
                end = offset + 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                bracket(byte)
                end = offset + 1
            default: break
            }
        }
        return end
    }
}
