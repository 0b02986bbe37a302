// SPDX-License-Identifier: Apache-2.0

/// A value of a YAML file.
struct YAMLNode: Equatable {
    indirect enum Value: Equatable {
        /// A text; plain ones may also be numbers or booleans.
        case scalar(String)
        case sequence([YAMLNode])
        case mapping([Entry])
        case null
        /// A text with a compose variable whose value is unknown; with the message.
        case unresolved(String)
    }

    struct Entry: Equatable {
        let key: String
        let line: Int
        let value: YAMLNode
    }

    let value: Value
    /// The line, from 1.
    let line: Int
    /// Whether it is an unquoted text, which YAML may parse as a number or a boolean.
    var isPlain = false

    var scalar: String? {
        if case .scalar(let text) = value { text } else { nil }
    }

    var entries: [Entry]? {
        if case .mapping(let entries) = value { entries } else { nil }
    }

    var items: [YAMLNode]? {
        if case .sequence(let items) = value { items } else { nil }
    }

    /// Whether it contains an unknown variable.
    var isUnresolved: Bool {
        if case .unresolved = value { true } else { false }
    }

    /// Creates a value from an unquoted text: YAML 1.2, 10.3.2.
    static func plain(_ text: String, line: Int) -> YAMLNode {
        let isNull = ["", "~", "null", "Null", "NULL"].contains(text)
        return YAMLNode(value: isNull ? .null : .scalar(text), line: line, isPlain: true)
    }

    subscript(key: String) -> YAMLNode? { entries?.first { $0.key == key }?.value }
}
