// SPDX-License-Identifier: Apache-2.0

/// Splits a command into words without expanding anything.
enum ShellWords {
    struct Invalid: Error {
        let message: String
    }

    /// Whose rules for quotes and backslashes apply.
    enum Dialect {
        /// sh(1).
        case shell
        /// Python's `shlex.split`.
        case python

        /// What a backslash within double quotes takes the meaning from.
        fileprivate var escapedInQuotes: String { self == .shell ? "\"\\$`" : "\"\\" }
    }

    /// The words of a command.
    ///
    /// - Throws: ``Invalid`` for a quote that is never closed.
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
                // A shell joins lines at a backslash.
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

    /// Whether a shell would do more with the words than run a program with arguments.
    static func needShell(_ text: String) -> Bool {
        text.contains { "|&;<>()$`*?[#~\n".contains($0) }
    }
}
