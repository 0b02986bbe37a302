// SPDX-License-Identifier: Apache-2.0

/// The words of a `command` or `entrypoint` that is a text: compose runs no shell, and splits words by its own rules.
///
/// It stops at an unquoted shell operator, decodes `\t` and `\n`, and keeps `$(…)` and backquotes unchanged in one
/// word.
struct ComposeWords {
    struct Invalid: Error {
        let message: String
    }

    private(set) var words: [String] = []
    /// The part that compose ignores: an operator and everything after it.
    private(set) var rest = ""

    private enum Quote {
        case single, double, back, dollar
    }

    private var word = ""
    /// Whether a word has begun, possibly an empty quoted one.
    private var isWord = false
    private var quote: Quote?

    /// - Throws: ``Invalid`` for text that compose rejects.
    init(_ text: String) throws(Invalid) {
        var isEscaped = false
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                isEscaped = false
                add(escaped(character))
            } else if character == "\\" {
                if quote == .single { word.append(character) } else { isEscaped = true }
            } else if quote == nil, character.isWhitespace {
                finish()
            } else if quote == nil, ";&|<>".contains(character) {
                // The descriptor number is part of its operator.
                if character == ">", word.allSatisfy({ ("0"..."9").contains($0) }) {
                    rest = word
                    isWord = false
                }
                rest += text[index...]
                break
            } else {
                try take(character)
            }
        }
        finish()
        guard !isEscaped, quote == nil else {
            throw Invalid(message: isEscaped ? "the command ends in a backslash" : "a quote is never closed")
        }
    }

    private mutating func add(_ text: String) {
        word += text
        isWord = true
    }

    private func escaped(_ character: Character) -> String {
        if quote == .back || quote == .dollar { return "\\\(character)" }
        return character == "t" ? "\t" : character == "n" ? "\n" : String(character)
    }

    private mutating func finish() {
        if isWord { words.append(word) }
        word = ""
        isWord = false
    }

    private mutating func take(_ character: Character) throws(Invalid) {
        switch (character, quote) {
        case ("\"", nil), ("\"", .double):
            quote = quote == nil ? .double : nil
            isWord = isWord || quote == nil
        case ("'", nil), ("'", .single):
            quote = quote == nil ? .single : nil
            isWord = isWord || quote == nil
        case ("`", nil), ("`", .back):
            quote = quote == nil ? .back : nil
            add("`")
        case ("(", nil) where word.hasSuffix("$") && !word.hasSuffix("\\$"):
            quote = .dollar
            add("(")
        case (")", .dollar):
            quote = nil
            add(")")
        case ("(", nil), (")", nil), ("(", .dollar):
            throw Invalid(message: "compose refuses a parenthesis outside of quotes")
        default: add(String(character))
        }
    }
}
