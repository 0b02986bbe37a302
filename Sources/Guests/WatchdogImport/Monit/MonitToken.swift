// SPDX-License-Identifier: Apache-2.0

/// A word, a number or a text of monit's control file, without the noise words before it.
struct MonitToken {
    enum Kind {
        /// An unquoted token: a keyword, a mark such as `>=`, or a text.
        case word
        case number
        /// A quoted text, or one at a place without keywords.
        case text
        /// A word of a command.
        case argument
        /// The pattern of an `include`.
        case included
    }

    let kind: Kind
    let text: String
    /// The original text, including the noise words before it.
    let shown: String
    /// Whether it directly follows the previous token.
    let isAttached: Bool
    let place: ImportPlace

    /// The keyword in lower case, with one spelling for all variants; empty if it cannot be a keyword.
    var keyword: String {
        guard kind == .word else { return "" }
        let word = text.lowercased()
        return Self.spellings[word] ?? word
    }

    /// Whether it is valid where monit expects a text or a path.
    var isText: Bool { kind == .text || kind == .word && !Self.isMark(text) }

    var count: Int? { kind == .number ? Int(text) : nil }

    private static func isMark(_ text: String) -> Bool { text.allSatisfy { "{}[]:@%!=<>~".contains($0) } }

    /// The unit in `200MB`.
    func unit(after number: Substring) -> String {
        let word = text.dropFirst(number.count).lowercased()
        return Self.spellings[word] ?? word
    }

    /// Words that monit ignores at any position.
    static let noise: Set<String> = [
        "is", "as", "are", "for", "via", "on", "only", "with", "within", "without", "program", "programs", "and", "has",
        "using", "use", "the", "to", "sum", "than", "usage", "was", "times", "but", "of", "or", "does", "per", "in",
        "last", "rate", "capacity", "activity", "option", "options",
    ]

    private static let spellings: [String: String] = [
        "portnumber": "port", "unix": "unixsocket", "proto": "protocol", "restarts": "restart", "cycles": "cycle",
        "mem": "memory", "totalmemory": "totalmem", "exists": "exist", "execute": "exec", "tls": "ssl",
        "matching": "match", "=~": "match", "childs": "children", "child": "children", "thread": "threads",
        "seconds": "second", "s": "second", "milliseconds": "millisecond", "ms": "millisecond", "percent": "%",
        "more": ">", "greater": ">", "gt": ">", "older": ">", "ge": ">=", "less": "<", "lt": "<", "newer": "<",
        "le": "<=", "equal": "=", "eq": "=", "==": "=", "notequal": "!=", "ne": "!=",
        "byte": "b", "bytes": "b", "kilobyte": "kb", "kilobytes": "kb", "megabyte": "mb", "megabytes": "mb",
        "gigabyte": "gb", "gigabytes": "gb",
    ]
}
