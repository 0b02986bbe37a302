// SPDX-License-Identifier: Apache-2.0

/// A value of a YAML file.
struct YAMLNode: Equatable {
    indirect enum Value: Equatable {
        /// A text; plain ones may also be numbers or booleans.
        case scalar(String)
        case sequence([YAMLNode])
        case mapping([Entry])
        case null
        /// A text with a variable of compose whose value is not in the file; the message says so.
        case unresolved(String)
    }

    struct Entry: Equatable {
        let key: String
        let line: Int
        let value: YAMLNode
    }

    let value: Value
    /// Counted from 1.
    let line: Int
    /// Whether it is a text without quotes, which YAML may take for a number or a boolean.
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

    /// Whether a variable in it is not known.
    var isUnresolved: Bool {
        if case .unresolved = value { true } else { false }
    }

    /// A text without quotes: YAML 1.2, 10.3.2.
    static func plain(_ text: String, line: Int) -> YAMLNode {
        let isNull = ["", "~", "null", "Null", "NULL"].contains(text)
        return YAMLNode(value: isNull ? .null : .scalar(text), line: line, isPlain: true)
    }

    /// The value of a key.
    subscript(key: String) -> YAMLNode? { entries?.first { $0.key == key }?.value }
}
