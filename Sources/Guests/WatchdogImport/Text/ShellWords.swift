// SPDX-License-Identifier: Apache-2.0

/// Splits a command into words without expanding anything.
enum ShellWords {
    struct Invalid: Error {
        let message: String
    }

    /// The rules for quotes and backslashes.
    enum Dialect {
        /// sh(1).
        case shell
        /// Python's `shlex.split`.
        case python

        /// The characters that a backslash escapes inside double quotes.
        fileprivate var escapedInQuotes: String { self == .shell ? "\"\\$`" : "\"\\" }
    }

    /// Splits a command.
    ///
    /// - Throws: ``Invalid`` for a quote that is not closed.
    static func split(_ text: String, _ dialect: Dialect = .shell) throws(Invalid) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var characters = text.makeIterator()
        while let character = characters.next() {
            switch (quote, character) {
            case ("'", "'"), ("\"", "\""): quote = nil
            case ("'", _): word = (word ?? "") + String(character)
            case ("\"", "\\"):
                guard let next = characters.next() else { throw Invalid(message: "the quote is never closed") }
                // In a shell, a backslash before a newline joins the lines.
                if dialect == .shell, next == "\n" { continue }
                word = (word ?? "") + (dialect.escapedInQuotes.contains(next) ? String(next) : "\\\(next)")
            case ("\"", _): word = (word ?? "") + String(character)
            case (_, "'"), (_, "\""):
                quote = character
                word = word ?? ""
            case (_, "\\"):
                guard let next = characters.next() else { throw Invalid(message: "the command ends in a backslash") }
                if dialect == .shell, next == "\n" { continue }
                word = (word ?? "") + String(next)
            case (_, " "), (_, "\t"), (_, "\n"), (_, "\r"), (_, "\r\n"):
                if let word { words.append(word) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        guard quote == nil else { throw Invalid(message: "the quote is never closed") }
        if let word { words.append(word) }
        return words
    }

    /// Whether a command needs a shell, because it is more than a program with arguments.
    static func needShell(_ text: String) -> Bool {
        text.contains { "|&;<>()$`*?[#~\n".contains($0) }
    }
}
