// SPDX-License-Identifier: Apache-2.0

/// A value of a YAML file.
struct YAMLNode: Equatable {
    indirect enum Value: Equatable {
        /// A text; plain ones may also be numbers or booleans.
        case scalar(String)
        case sequence([YAMLNode])
        case mapping([Entry])
        case null
    }

    struct Entry: Equatable {
        let key: String
        let line: Int
        let value: YAMLNode
    }

    let value: Value
    /// Counted from 1.
    let line: Int

    var scalar: String? {
        if case .scalar(let text) = value { text } else { nil }
    }

    var entries: [Entry]? {
        if case .mapping(let entries) = value { entries } else { nil }
    }

    var items: [YAMLNode]? {
        if case .sequence(let items) = value { items } else { nil }
    }

    /// The value of a key.
    subscript(key: String) -> YAMLNode? { entries?.first { $0.key == key }?.value }
}
