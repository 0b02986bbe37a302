// SPDX-License-Identifier: Apache-2.0

/// Reads quoted texts.
enum YAMLQuoted {
    /// The quoted text at the start, and the rest; nil if the quote is not closed, or has an unknown escape.
    static func read(_ text: Substring) -> (value: String, rest: Substring)? {
        guard let quote = text.first else { return nil }
        var value = ""
        var rest = text.dropFirst()
        while let character = rest.first {
            rest = rest.dropFirst()
            if character == quote {
                // In single quotes, a doubled quote is an escaped one.
                guard quote == "'", rest.first == "'" else { return (value, rest) }
                rest = rest.dropFirst()
                value.append("'")
            } else if character == "\\", quote == "\"" {
                guard let next = rest.first else { return nil }
                rest = rest.dropFirst()
                guard let escaped = escaped(next, &rest) else { return nil }
                value.append(escaped)
            } else {
                value.append(character)
            }
        }
        return nil
    }

    static func closes(_ line: Substring, _ quote: Character?) -> Bool {
        var rest = line
        while let character = rest.first {
            rest = rest.dropFirst()
            if character == "\\", quote == "\"" {
                rest = rest.dropFirst()
            } else if character == quote {
                guard quote == "'", rest.first == "'" else { return true }
                rest = rest.dropFirst()
            }
        }
        return false
    }

    /// Decodes a backslash and the next character: YAML 1.2, 5.7.
    private static func escaped(_ character: Character, _ rest: inout Substring) -> Character? {
        let digits = ["x": 2, "u": 4, "U": 8][character]
        if let digits {
            let text = rest.prefix(digits)
            guard text.count == digits, let number = UInt32(text, radix: 16), let scalar = Unicode.Scalar(number),
                number > 0
            else { return nil }
            rest = rest.dropFirst(digits)
            return Character(scalar)
        }
        return simple[character]
    }

    private static let simple: [Character: Character] = [
        "a": "\u{7}", "b": "\u{8}", "t": "\t", "\t": "\t", "n": "\n", "v": "\u{b}", "f": "\u{c}", "r": "\r",
        "e": "\u{1b}", " ": " ", "\"": "\"", "/": "/", "\\": "\\", "N": "\u{85}", "_": "\u{a0}", "L": "\u{2028}",
        "P": "\u{2029}",
    ]
}

/// Reads `[a, b]` and `{a: b}`.
struct YAMLFlow {
    private static let maximumDepth = 16

    private var rest: Substring
    private let path: String
    private let line: Int
    private(set) var anchors: YAMLAnchors

    init(text: String, path: String, line: Int, anchors: YAMLAnchors) {
        rest = text[...]
        self.anchors = anchors
        self.path = path
        self.line = line
    }

    /// Whether all unquoted brackets are closed.
    static func isBalanced(_ text: String) -> Bool {
        var depth = 0
        var rest = text[...]
        var previous: Character = "["
        while let character = rest.first {
            if character == "\"" || character == "'", "[{,: ".contains(previous) {
                guard let (_, after) = YAMLQuoted.read(rest) else { return false }
                rest = after
            } else {
                if "[{".contains(character) { depth += 1 }
                if "]}".contains(character) { depth -= 1 }
                rest = rest.dropFirst()
            }
            previous = character
        }
        return depth <= 0
    }

    mutating func read() throws(ImportError) -> YAMLNode {
        let node = try value(depth: 0)
        guard rest.trimmed.isEmpty else { throw error("nothing may follow the closing bracket") }
        return node
    }

    private func error(_ message: String) -> ImportError { ImportError(ImportPlace(file: path, line: line), message) }

    private mutating func skipBlanks() { rest = rest.drop { $0 == " " || $0 == "\t" } }

    private mutating func value(depth: Int) throws(ImportError) -> YAMLNode {
        guard depth < Self.maximumDepth else { throw error("the value is nested more than 16 levels deep") }
        skipBlanks()
        switch rest.first {
        case "[":
            rest = rest.dropFirst()
            return YAMLNode(value: .sequence(try items(depth)), line: line)
        case "{":
            rest = rest.dropFirst()
            return YAMLNode(value: .mapping(try entries(depth)), line: line)
        case "&":
            let name = try name()
            skipBlanks()
            guard rest.first.map({ !"&*".contains($0) }) ?? true else { throw error("an anchor wants a value") }
            let node = try value(depth: depth + 1)
            guard anchors.define(name, node) else { throw error("the value is nested more than 32 levels deep") }
            return node
        case "*":
            let name = try name()
            do throws(YAMLAnchors.Invalid) {
                return try anchors.node(name)
            } catch {
                throw self.error(error.message)
            }
        default:
            let (text, isQuoted) = try scalar()
            return isQuoted ? YAMLNode(value: .scalar(text), line: line) : .plain(text, line: line)
        }
    }

    /// The name after `&` or `*`.
    private mutating func name() throws(ImportError) -> String {
        let name = YAMLAnchors.name(rest.dropFirst())
        guard !name.isEmpty else { throw error("\(rest.prefix(1)) wants the name of an anchor") }
        rest = rest.dropFirst(1 + name.count)
        return String(name)
    }

    private mutating func scalar() throws(ImportError) -> (String, isQuoted: Bool) {
        skipBlanks()
        if rest.first == "\"" || rest.first == "'" {
            guard let (value, after) = YAMLQuoted.read(rest) else {
                throw error("the quote is never closed, or has an escape that YAML lacks")
            }
            rest = after
            return (value, true)
        }
        guard rest.first.map({ !"&*!".contains($0) }) ?? true else {
            throw error(
                "tags, and anchors and aliases of keys, are not supported; import what 'docker compose config' prints")
        }
        var text = ""
        while let character = rest.first, !",]}".contains(character) {
            if character == ":", rest.dropFirst().first.map({ " \t,]}".contains($0) }) ?? true { break }
            text.append(character)
            rest = rest.dropFirst()
        }
        return (String(text.trimmed), false)
    }

    /// Consumes the comma or the closing bracket, and returns whether another item follows.
    private mutating func goesOn(_ close: Character) throws(ImportError) -> Bool {
        skipBlanks()
        switch rest.first {
        case ",":
            rest = rest.dropFirst()
            return true
        case close:
            rest = rest.dropFirst()
            return false
        default: throw error("\",\" or \"\(close)\" is missing before \(Printable.quoted(rest))")
        }
    }

    private mutating func items(_ depth: Int) throws(ImportError) -> [YAMLNode] {
        var items: [YAMLNode] = []
        repeat {
            skipBlanks()
            if rest.first == "]" { continue }
            items.append(try value(depth: depth + 1))
        } while try goesOn("]")
        return items
    }

    private mutating func entries(_ depth: Int) throws(ImportError) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        repeat {
            skipBlanks()
            if rest.first == "}" { continue }
            let (key, isQuoted) = try scalar()
            guard key != "<<" || !isQuoted else { throw error("a merge key in quotes is not supported") }
            skipBlanks()
            guard rest.first == ":" else { throw error("\":\" is missing after \(Printable.quoted(key))") }
            rest = rest.dropFirst()
            guard !entries.contains(where: { $0.key == key }) else {
                throw error("the key \(Printable.quoted(key)) is set twice")
            }
            entries.append(YAMLNode.Entry(key: key, line: line, value: try value(depth: depth + 1)))
        } while try goesOn("}")
        guard let merged = YAMLAnchors.merged(entries) else {
            throw error("a merge key wants a mapping, or a list of mappings")
        }
        return merged
    }
}
