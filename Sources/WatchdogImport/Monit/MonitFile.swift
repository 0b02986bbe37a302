// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// The statements of monit's control file: monit(1).
struct MonitFile {
    struct Token {
        let text: String
        /// Whether it was in quotes, and so is not a keyword.
        let isQuoted: Bool
        let place: ImportPlace

        /// In lower case if it can be a keyword, otherwise empty.
        var keyword: String { isQuoted ? "" : text.lowercased() }
    }

    /// A statement without monit's noise words.
    struct Statement {
        let tokens: [Token]
        /// As it can be shown, with its noise words.
        let shown: String
        var place: ImportPlace { tokens[0].place }
        var first: String { tokens[0].keyword }

        /// The token after a keyword.
        func after(_ keyword: String) -> Token? {
            guard let index = tokens.firstIndex(where: { $0.keyword == keyword }) else { return nil }
            return tokens.indices.contains(index + 1) ? tokens[index + 1] : nil
        }

        func has(_ keyword: String) -> Bool { tokens.contains { $0.keyword == keyword } }
    }

    private(set) var statements: [Statement] = []

    init(_ file: ConfigurationFile) throws(ImportError) {
        let tokens = try Self.tokens(of: file)
        var index = 0
        while index < tokens.count {
            let end = Self.end(of: tokens, from: index)
            let kept = tokens[index..<end].filter { !Self.noise.contains($0.keyword) }
            guard let first = kept.first, Self.starts.contains(first.keyword) else {
                throw ImportError(
                    tokens[index].place, "\(Printable.quoted(tokens[index].text)) begins no statement of monit")
            }
            let words = tokens[index..<end].map { $0.isQuoted ? "\"\($0.text)\"" : $0.text }
            let shown = Printable.text(words.joined(separator: " "), limit: 72)
            statements.append(Statement(tokens: Array(kept), shown: shown))
            index = end
        }
    }

    // MARK: - Tokens

    private static let noise: Set<String> = [
        "is", "as", "are", "on", "only", "with", "within", "using", "use", "the", "sum", "than", "for", "has", "method",
        "program", "programs", "and", "in", "=",
    ]

    private static func tokens(of file: ConfigurationFile) throws(ImportError) -> [Token] {
        var tokens: [Token] = []
        for (index, line) in try ForeignText.lines(of: file).enumerated() {
            let place = ImportPlace(file: file.path, line: index + 1)
            var rest = line[...].trimmed
            while let first = rest.first, first != "#" {
                if first == "\"" || first == "'" {
                    let body = rest.dropFirst()
                    guard let close = body.firstIndex(of: first) else {
                        throw ImportError(place, "the quote is never closed")
                    }
                    tokens.append(Token(text: String(body[..<close]), isQuoted: true, place: place))
                    rest = body[body.index(after: close)...].trimmed
                } else {
                    let isMark = "=<>!".contains(first)
                    var text = rest.prefix { $0 != " " && $0 != "\t" && "=<>!".contains($0) == isMark && $0 != "\"" }
                    if text.hasSuffix(","), text.count > 1 { text = text.dropLast() }
                    rest = rest.dropFirst(text.count).drop { $0 == "," }.trimmed
                    tokens.append(Token(text: String(text), isQuoted: false, place: place))
                }
            }
        }
        return tokens
    }

    // MARK: - Statements

    private static let starts: Set<String> = [
        "check", "set", "include", "start", "stop", "restart", "if", "group", "depends", "every", "not", "mode",
        "onreboot", "alert", "noalert",
    ]

    /// The end of the statement that begins at `start`.
    private static func end(of tokens: [Token], from start: Int) -> Int {
        var index = start + 1
        // `then restart` and `else if` begin nothing.
        var isWaiting = tokens[start].keyword == "if"
        while index < tokens.count {
            let word = tokens[index].keyword
            if word == "then" {
                isWaiting = false
                index += 2
                continue
            }
            if word == "else" { isWaiting = true }
            let isSet = tokens[start].keyword == "set" && word != "check" && word != "set" && word != "include"
            // `not every`, and the `every` of `repeat every`.
            let isTied = word == "every" && ["not", "repeat"].contains(tokens[index - 1].keyword)
            if starts.contains(word), !isWaiting, !isSet, !isTied { return index }
            index += 1
        }
        // A file may end after `then`.
        return min(index, tokens.count)
    }
}
