// SPDX-License-Identifier: Apache-2.0

/// Splits the text of an option into the words of a command line.
public enum CommandWords {
    /// A quote is not closed.
    public struct UnterminatedQuote: Error, Equatable, Sendable, CustomStringConvertible {
        /// The quote: `'` or `"`.
        public let quote: Character
        /// Its offset in characters.
        public let offset: Int

        /// The error: one sentence without a period.
        public var description: String { "the quote \(quote) at column \(offset + 1) is not closed" }
    }

    /// Splits at blanks outside of quotes, as a shell does; nothing is expanded.
    ///
    /// `'…'` is literal. In `"…"` and outside of quotes, a backslash makes the next character literal.
    public static func split(_ text: String) throws(UnterminatedQuote) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: (character: Character, offset: Int)?
        var isEscaped = false
        for (offset, character) in text.enumerated() {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", quote?.character != "'" {
                isEscaped = true
                word = word ?? ""
            } else if let open = quote {
                if character == open.character { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "'" || character == "\"" {
                quote = (character, offset)
                word = word ?? ""
            } else if character == " " || character == "\t" || character == "\n" {
                if let finished = word { words.append(finished) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let quote { throw UnterminatedQuote(quote: quote.character, offset: quote.offset) }
        return words + [word].compactMap(\.self)
    }
}
