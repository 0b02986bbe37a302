// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// Reads the subset of YAML 1.2 that compose files use, and rejects the rest: docs/adr/0015.
///
/// Supported are block and flow mappings and sequences, plain and quoted texts, `|` and `>`, and anchors, aliases and
/// merge keys. Tags, complex keys, and several documents are not.
struct YAMLReader {
    /// The maximum nesting depth, which exceeds that of realistic compose files.
    private static let maximumDepth = 32
    /// The maximum length of a quoted text over several lines.
    private static let maximumQuoted = 64 << 10
    /// The maximum length of a flow value over several lines.
    private static let maximumFlow = 4 << 10

    private struct Line {
        var indent: Int
        var text: String
        let number: Int
    }

    private let path: String
    /// All unprocessed lines, for block scalars.
    private let raw: [String]
    private var lines: [Line] = []
    private var index = 0
    private var anchors = YAMLAnchors()

    static func read(_ file: ConfigurationFile) throws(ImportError) -> YAMLNode {
        var reader = try YAMLReader(file)
        guard let first = reader.lines.first else { return YAMLNode(value: .null, line: 1) }
        let node = try reader.block(first.indent, depth: 0)
        if let rest = reader.current { throw reader.error("the indentation matches no line above", rest.number) }
        return node
    }

    private init(_ file: ConfigurationFile) throws(ImportError) {
        path = file.path
        raw = try ForeignText.lines(of: file)
        for (index, line) in raw.enumerated() {
            let blanks = line.prefix { $0 == " " }
            let rest = line.dropFirst(blanks.count)
            guard let first = rest.first, first != "#", !rest.trimmed.isEmpty else { continue }
            if lines.isEmpty, rest == "---" { continue }
            // Tabs after this point are handled when they are parsed, because block scalars may contain them.
            lines.append(Line(indent: blanks.count, text: String(rest.trimmed), number: index + 1))
        }
    }

    private var current: Line? { index < lines.count ? lines[index] : nil }

    private func error(_ message: String, _ line: Int) -> ImportError {
        ImportError(ImportPlace(file: path, line: line), message)
    }

    // MARK: - Blocks

    private mutating func block(_ indent: Int, depth: Int) throws(ImportError) -> YAMLNode {
        guard let line = current else { return YAMLNode(value: .null, line: raw.count) }
        guard depth < Self.maximumDepth else { throw error("the file is nested more than 32 levels deep", line.number) }
        try check(line)
        if line.text == "-" || line.text.hasPrefix("- ") { return try sequence(indent, depth) }
        if try Self.split(line.text) != nil { return try mapping(indent, depth) }
        index += 1
        return try inline(line.text, line.number, indent - 1, depth)
    }

    private func check(_ line: Line) throws(ImportError) {
        guard !raw[line.number - 1].prefix(while: { $0 == " " || $0 == "\t" }).contains("\t") else {
            throw error("a tab in the indentation; YAML requires spaces", line.number)
        }
        guard line.text != "---", line.text != "..." else {
            throw error("only one document in a file can be read", line.number)
        }
    }

    private mutating func sequence(_ indent: Int, _ depth: Int) throws(ImportError) -> YAMLNode {
        let start = lines[index].number
        var items: [YAMLNode] = []
        while let line = current, line.indent == indent, line.text == "-" || line.text.hasPrefix("- ") {
            try check(line)
            let rest = line.text.dropFirst().drop { $0 == " " }
            let anchored = try anchor(rest, line.number)
            if rest.isEmpty || rest.hasPrefix("#") || anchored?.rest.isEmpty == true {
                index += 1
                let next = current.map { $0.indent > indent } ?? false
                items.append(try below(line, next, depth, anchor: anchored?.name))
            } else {
                // The text after the dash is a nested block with a larger indentation.
                lines[index].indent = indent + line.text.count - rest.count
                lines[index].text = String(rest)
                items.append(try block(lines[index].indent, depth: depth + 1))
            }
        }
        return YAMLNode(value: .sequence(items), line: start)
    }

    private mutating func mapping(_ indent: Int, _ depth: Int) throws(ImportError) -> YAMLNode {
        let start = lines[index].number
        var entries: [YAMLNode.Entry] = []
        var keys: Set<String> = []
        while let line = current, line.indent == indent {
            try check(line)
            guard let (rawKey, rest) = try Self.split(line.text) else {
                throw error("\(Printable.quoted(line.text)) is not \"key: value\"", line.number)
            }
            let key = try scalar(rawKey, line.number)
            guard key != "<<" || rawKey == "<<" else { throw unsupported("merge keys in quotes", line.number) }
            guard keys.insert(key).inserted else {
                throw error("the key \(Printable.quoted(key)) is set twice", line.number)
            }
            index += 1
            let anchored = try anchor(rest[...], line.number)
            let value: YAMLNode
            if rest.isEmpty || anchored?.rest.isEmpty == true {
                // A sequence may have the same indentation as its key.
                let isBelow = current.map { $0.indent > indent || $0.indent == indent && $0.text.isItem } ?? false
                value = try below(line, isBelow, depth, anchor: anchored?.name)
            } else {
                value = try inline(rest, line.number, indent, depth)
            }
            entries.append(YAMLNode.Entry(key: key, line: line.number, value: value))
        }
        if let line = current, line.indent > indent {
            throw error("the indentation matches no line above", line.number)
        }
        guard let merged = YAMLAnchors.merged(entries) else {
            throw error("a merge key wants a mapping, or a list of mappings", start)
        }
        return YAMLNode(value: .mapping(merged), line: start)
    }

    /// The block on the next lines, or null.
    private mutating func below(
        _ line: Line, _ isThere: Bool, _ depth: Int, anchor: String?
    ) throws(ImportError) -> YAMLNode {
        let node =
            isThere ? try block(lines[index].indent, depth: depth + 1) : YAMLNode(value: .null, line: line.number)
        if let anchor { try define(anchor, node, line.number) }
        return node
    }

    // MARK: - Anchors

    /// The anchor at the start of a value, and the rest without a comment; nil without an anchor.
    private func anchor(_ text: Substring, _ line: Int) throws(ImportError) -> (name: String, rest: String)? {
        guard text.first == "&" else { return nil }
        let name = YAMLAnchors.name(text.dropFirst())
        let rest = text.dropFirst(1 + name.count)
        guard !name.isEmpty, rest.first.map({ $0 == " " || $0 == "\t" }) ?? true else {
            throw error("an anchor needs a name before \(Printable.quoted(text))", line)
        }
        return (String(name), Self.withoutComment(String(rest.trimmed)))
    }

    private mutating func define(_ name: String, _ node: YAMLNode, _ line: Int) throws(ImportError) {
        guard anchors.define(name, node) else { throw error("the file is nested more than 32 levels deep", line) }
    }

    private mutating func alias(_ text: String, _ line: Int) throws(ImportError) -> YAMLNode {
        let name = YAMLAnchors.name(text.dropFirst())
        guard text.dropFirst(1 + name.count).isEmpty else {
            throw error("nothing may follow the alias *\(name.singleLine(limit: 40))", line)
        }
        do throws(YAMLAnchors.Invalid) {
            return try anchors.node(String(name))
        } catch {
            throw self.error(error.message, line)
        }
    }

    /// Key and value of `key: value`; nil if there is no key.
    private static func split(_ text: String) throws(ImportError) -> (key: String, rest: String)? {
        var quote: Character?
        var index = text.startIndex
        if let first = text.first, first == "\"" || first == "'" { quote = first }
        if quote != nil { index = text.index(after: index) }
        var previous: Character = " "
        while index < text.endIndex {
            let character = text[index]
            let next = text.index(after: index)
            defer { previous = character }
            if let open = quote {
                if character == open { quote = nil }
            } else if character == "#", previous == " " || previous == "\t" {
                return nil
            } else if character == ":", next == text.endIndex || text[next] == " " || text[next] == "\t" {
                let value = String(text[next...].trimmed)
                // In quotes, a # does not start a comment.
                let isQuoted = value.first == "\"" || value.first == "'"
                return (String(text[..<index].trimmed), isQuoted ? value : withoutComment(value))
            } else if "[{".contains(character), index == text.startIndex {
                return nil
            }
            index = next
        }
        return nil
    }

    // MARK: - Values on one line

    private mutating func inline(
        _ text: String, _ line: Int, _ indent: Int, _ depth: Int
    ) throws(ImportError) -> YAMLNode {
        switch text.first {
        case "|", ">": return YAMLNode(value: .scalar(try blockScalar(text, line, indent)), line: line)
        case "[", "{":
            var flow = YAMLFlow(text: try joined(text, line), path: path, line: line, anchors: anchors)
            let node = try flow.read()
            anchors = flow.anchors
            return node
        case "*": return try alias(Self.withoutComment(text), line)
        case "&":
            guard let (name, rest) = try anchor(text[...], line), !rest.isEmpty, !"&*".contains(rest.first ?? " ")
            else { throw unsupported("such anchors", line) }
            let node = try inline(rest, line, indent, depth)
            try define(name, node, line)
            return node
        case "\"", "'": return YAMLNode(value: .scalar(try quoted(text, line, indent)), line: line)
        default:
            var folded = Self.withoutComment(text)
            var last = line
            while let next = current, next.indent > indent {
                let between = raw[last..<(next.number - 1)]
                guard try Self.split(next.text) == nil, between.allSatisfy(\.trimmed.isEmpty) else {
                    throw error("the indentation matches no line above", next.number)
                }
                // An empty line stands for a line break.
                folded += between.isEmpty ? " " : String(repeating: "\n", count: between.count)
                folded += Self.withoutComment(next.text)
                last = next.number
                index += 1
            }
            return .plain(try scalar(folded, line), line: line)
        }
    }

    private static func withoutComment(_ text: String, isFlow: Bool = false) -> String {
        if text.hasPrefix("#") { return "" }
        guard text.contains(" #") || text.contains("\t#") else { return text }
        // Inside a plain text, quotes are ordinary characters.
        let first = text.first ?? " "
        let hasQuotes = isFlow || "\"'[{".contains(first)
        var quote: Character?
        var previous: Character = " "
        for index in text.indices {
            let character = text[index]
            if let open = quote {
                if character == open { quote = nil }
            } else if hasQuotes, character == "\"" || character == "'", " [{,:".contains(previous) {
                quote = character
            } else if character == "#", previous == " " || previous == "\t" {
                return String(text[..<index].trimmed)
            }
            previous = character
        }
        return text
    }

    /// Reads a quoted text, including continuation lines: YAML 1.2, 7.3.1 and 7.3.2.
    private mutating func quoted(_ text: String, _ line: Int, _ indent: Int) throws(ImportError) -> String {
        var whole = text
        var number = line
        var breaks = 0
        var isClosed = YAMLQuoted.closes(text.dropFirst(), text.first)
        while !isClosed, number < raw.count, whole.utf8.count < Self.maximumQuoted {
            let next = raw[number].trimmed
            number += 1
            guard !next.isEmpty else {
                breaks += 1
                continue
            }
            guard raw[number - 1].prefix(while: { $0 == " " }).count > indent else {
                throw error("the indentation matches no line above", number)
            }
            // A backslash at the end of a line joins it to the next one without a blank.
            let isJoined = text.first == "\"" && whole.reversed().prefix { $0 == "\\" }.count % 2 == 1
            if isJoined { whole.removeLast() }
            whole += breaks > 0 ? String(repeating: "\n", count: breaks) : isJoined ? "" : " "
            whole += next
            breaks = 0
            isClosed = YAMLQuoted.closes(next, text.first)
        }
        while let next = current, next.number <= number { index += 1 }
        guard isClosed, let (value, rest) = YAMLQuoted.read(whole[...]) else {
            throw error("the quote is never closed, or has an escape that YAML lacks", line)
        }
        let isComment = rest.first == " " || rest.first == "\t"
        guard rest.isEmpty || isComment && (rest.trimmed.isEmpty || rest.trimmed.hasPrefix("#")) else {
            throw error("nothing may follow the closing quote", line)
        }
        return value
    }

    private func unsupported(_ what: String, _ line: Int) -> ImportError {
        error("\(what) of YAML are not supported; import what 'docker compose config' prints", line)
    }

    private func scalar(_ text: String, _ line: Int) throws(ImportError) -> String {
        switch text.first {
        case "&", "*": throw unsupported("anchors and aliases of keys", line)
        case "!": throw unsupported("tags", line)
        case "?": throw unsupported("complex keys", line)
        case "%", "@", "`": throw error("a plain text cannot begin with \(text.prefix(1)); put it in quotes", line)
        case "\"", "'":
            guard let (value, rest) = YAMLQuoted.read(text[...]) else {
                throw error("the quote is never closed on its line, or has an escape that YAML lacks", line)
            }
            guard rest.trimmed.isEmpty else { throw error("nothing may follow the closing quote", line) }
            return value
        default: return text
        }
    }

    // MARK: - Values on several lines

    /// Reads a flow value, including continuation lines.
    private mutating func joined(_ text: String, _ line: Int) throws(ImportError) -> String {
        var whole = Self.withoutComment(text, isFlow: true)
        while !YAMLFlow.isBalanced(whole) {
            guard let next = current, whole.utf8.count < Self.maximumFlow else {
                throw error("the bracket that opens here is never closed, or only after 4 KiB", line)
            }
            guard !whole.hasSuffix("\\") else {
                throw unsupported("lines that end in a backslash within brackets", line)
            }
            whole += " " + Self.withoutComment(next.text, isFlow: true)
            index += 1
        }
        return whole
    }

    private mutating func blockScalar(_ header: String, _ line: Int, _ indent: Int) throws(ImportError) -> String {
        let marks = Self.withoutComment(header)
        guard marks.dropFirst().isEmpty || ["-", "+"].contains(marks.dropFirst()) else {
            throw error("\(Printable.quoted(marks)) is not supported; write |, |-, > or >-", line)
        }
        var body: [Substring] = []
        var margin: Int?
        var number = line
        while number < raw.count {
            let text = raw[number]
            let blanks = text.prefix { $0 == " " }.count
            if blanks == text.count {
                body.append(text.dropFirst(margin ?? blanks))
            } else {
                guard blanks > indent else { break }
                margin = margin ?? blanks
                guard blanks >= margin ?? 0 else { throw error("the indentation matches no line above", number + 1) }
                body.append(text.dropFirst(margin ?? 0))
            }
            number += 1
        }
        while let next = current, next.number <= number { index += 1 }
        // The empty text after the last line break is not a line.
        let count = number == raw.count && raw.last == "" ? body.count - 1 : body.count
        while body.last == "" { body.removeLast() }
        let text = marks.hasPrefix(">") ? Self.folded(body) : body.joined(separator: "\n")
        if marks.hasSuffix("+") {
            return text + String(repeating: "\n", count: max(0, count - body.count) + (body.isEmpty ? 0 : 1))
        }
        return marks.hasSuffix("-") || body.isEmpty ? text : text + "\n"
    }

    /// Joins the lines of a folded text; lines with more indentation keep their line breaks: YAML 1.2, 8.1.3.
    private static func folded(_ lines: [Substring]) -> String {
        var text = ""
        var last: Substring?
        var breaks = 0
        for line in lines {
            guard !line.isEmpty else {
                breaks += 1
                continue
            }
            if let last {
                let isFolded = !" \t".contains(last.first ?? " ") && !" \t".contains(line.first ?? " ")
                text += !isFolded ? "\n" : breaks == 0 ? " " : ""
            }
            text += String(repeating: "\n", count: breaks) + line
            last = line
            breaks = 0
        }
        return text
    }
}

extension String {
    fileprivate var isItem: Bool { self == "-" || hasPrefix("- ") }
}
