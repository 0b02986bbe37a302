// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// The statements of monit's control file and of its included files: monit(1).
struct MonitFile {
    /// A statement without monit's noise words.
    struct Statement {
        let tokens: [MonitToken]
        var place: ImportPlace { tokens[0].place }
        var first: String { tokens[0].keyword }

        /// The original text, on one line, truncated.
        var shown: String {
            let words = tokens.reduce("") { $0.isEmpty || $1.isAttached ? $0 + $1.shown : "\($0) \($1.shown)" }
            return words.split { $0.isWhitespace }.joined(separator: " ").singleLine(limit: 72)
        }

        func after(_ keyword: String) -> MonitToken? {
            guard let index = tokens.firstIndex(where: { $0.keyword == keyword }) else { return nil }
            return tokens.indices.contains(index + 1) ? tokens[index + 1] : nil
        }

        func has(_ keyword: String) -> Bool { tokens.contains { $0.keyword == keyword } }
    }

    /// The files that match a pattern.
    typealias Search = (_ pattern: String) throws(ImportError) -> [ConfigurationFile]

    private(set) var statements: [Statement] = []
    /// Notes about includes without a matching file.
    private(set) var notes: [ImportNote] = []

    init(_ file: ConfigurationFile, matching search: Search) throws(ImportError) {
        var tokens: [MonitToken] = []
        try add(file, within: [], to: &tokens, matching: search)
        var index = 0
        var isInCheck = false
        while index < tokens.count {
            let first = tokens[index]
            let isHead = first.keyword == "set" || first.keyword == "check"
            guard isHead || isInCheck && Self.options.contains(first.keyword) else {
                throw ImportError(first.place, "\(Printable.quoted(first.text)) begins no statement of monit")
            }
            if isHead { isInCheck = first.keyword == "check" }
            let end = Self.end(of: tokens, from: index)
            statements.append(Statement(tokens: Array(tokens[index..<end])))
            index = end
        }
    }

    // MARK: - Includes

    /// The maximum number of tokens.
    private static let maximumCount = 1_000_000
    private static let maximumDepth = 16

    /// Adds a file's tokens, with those of included files in their places.
    private mutating func add(
        _ file: ConfigurationFile, within outer: [String], to tokens: inout [MonitToken], matching search: Search
    ) throws(ImportError) {
        let files = outer + [file.path]
        for token in try MonitLexer.tokens(of: file) {
            guard token.kind == .included else {
                guard tokens.count < Self.maximumCount else {
                    throw ImportError(token.place, "the files have more than 1,000,000 words")
                }
                tokens.append(token)
                continue
            }
            let shown = "include \(Printable.quoted(token.text))"
            guard token.text.hasPrefix("/") else {
                note(token, "\(shown): it depends on where monit is started; give these files to this command too")
                continue
            }
            // monit skips backup files of editors.
            let included = try search(token.text).filter { !$0.path.hasSuffix("~") }
            if included.isEmpty { note(token, "\(shown): no file matches") }
            for file in included {
                guard !files.contains(file.path), files.count < Self.maximumDepth else {
                    note(token, "\(shown): \(file.path.singleLine()) includes itself, or is included too deep")
                    continue
                }
                try add(file, within: files, to: &tokens, matching: search)
            }
        }
    }

    private mutating func note(_ token: MonitToken, _ message: String) {
        notes.append(ImportNote(kind: .skipped, place: token.place, message: message))
    }

    // MARK: - Statements

    /// The keywords that start a statement about a checked service.
    private static let options: Set<String> = [
        "start", "stop", "restart", "if", "group", "depends", "every", "notevery", "mode", "onreboot", "alert",
        "noalert", "ignore",
    ]

    /// The end of the statement that begins at `start`.
    private static func end(of tokens: [MonitToken], from start: Int) -> Int {
        func isHead(_ index: Int) -> Bool { ["set", "check"].contains(tokens[index].keyword) }
        var index = start + 1
        func word(_ index: Int) -> String { tokens.indices.contains(index) ? tokens[index].keyword : "" }
        switch tokens[start].keyword {
        case "set":
            while index < tokens.count, !isHead(index) { index += 1 }
            return index
        case "mode", "onreboot":
            return index < tokens.count && !isHead(index) ? index + 1 : index
        case "if":
            return endOfTest(tokens, from: start)
        case "alert", "noalert":
            var depth = 0
            while index < tokens.count, depth > 0 || !isHead(index) && !options.contains(tokens[index].keyword) {
                if word(index) == "{" { depth += 1 }
                if word(index) == "}" { depth -= 1 }
                index += 1
            }
            return index
        default:
            while index < tokens.count, !isHead(index), !options.contains(tokens[index].keyword) { index += 1 }
            return index
        }
    }

    /// The end of `if … then … else if … then …`; conditions and actions contain words that otherwise start other
    /// statements.
    private static func endOfTest(_ tokens: [MonitToken], from start: Int) -> Int {
        var index = start + 1
        var isCondition = true
        while index < tokens.count {
            let word = tokens[index].keyword
            if ["set", "check"].contains(word) { return index }
            if isCondition {
                // A condition without `then` ends before the next.
                if word == "if" { return index }
                index += word == "then" ? 2 : 1
                isCondition = word != "then"
            } else if word == "else" {
                isCondition = index + 1 < tokens.count && tokens[index + 1].keyword == "if"
                index += 2
            } else if word == "repeat" {
                index += 2
            } else if options.contains(word) {
                return index
            } else {
                index += 1
            }
        }
        // A file may end after `then`.
        return min(index, tokens.count)
    }
}
