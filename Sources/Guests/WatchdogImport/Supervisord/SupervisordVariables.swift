// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// `KEY=value,KEY2="value, 2"` of supervisord's `environment`, which it takes apart with Python's shlex in its older
/// mode: a word of letters, digits and a few marks, or a text in quotes, or any other character by itself.
struct SupervisordVariables {
    struct Invalid: Error {
        let message: String
    }

    private(set) var variables: [(name: String, value: String)] = []
    /// The tokens that supervisord skips where it expects a comma, such as the second word of `A=two words`.
    private(set) var ignored: [String] = []

    /// Whether supervisord rejects the text because of an unquoted value with special characters.
    private(set) var isRefused = false

    init(_ text: String) throws(Invalid) {
        do throws(Invalid) {
            try read(try Self.tokens(text))
        } catch {
            // The meaning is still clear if each value ends at a comma.
            isRefused = true
            ignored = []
            variables = []
            do throws(Invalid) { try read(try Self.tokens(text, wordsHaveMarks: true)) } catch _ { throw error }
        }
    }

    private mutating func read(_ tokens: [String]) throws(Invalid) {
        var index = 0
        while index < tokens.count {
            guard index + 2 < tokens.count, tokens[index + 1] == "=" else {
                throw Invalid(
                    message: "\(Printable.quoted(tokens[index])) is not KEY=value for supervisord; "
                        + "put values with other characters than letters, digits and /.+-():_ in quotes: "
                        + "KEY=\"value\",KEY2=\"value\"")
            }
            let value = tokens[index + 2].trimmingQuotes
            variables.removeAll { $0.name == tokens[index] }
            variables.append((tokens[index], value))
            if index + 3 < tokens.count, tokens[index + 3] != "," { ignored.append(tokens[index + 3]) }
            index += 4
        }
    }

    private static let wordCharacters = Set(
        (SupervisordExpansion.unknown
            + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.+-():").unicodeScalars)

    private static func tokens(_ text: String, wordsHaveMarks: Bool = false) throws(Invalid) -> [String] {
        var tokens: [String] = []
        var rest = text.unicodeScalars[...]
        func isBlank(_ scalar: Unicode.Scalar) -> Bool { " \t\r\n".unicodeScalars.contains(scalar) }
        func isInWord(_ scalar: Unicode.Scalar) -> Bool {
            wordCharacters.contains(scalar) || wordsHaveMarks && !",=\"'#".unicodeScalars.contains(scalar)
        }
        while let first = rest.first {
            if isBlank(first) {
                rest = rest.dropFirst()
            } else if first == "#" {
                rest = rest.drop { $0 != "\n" }
            } else if first == "\"" || first == "'" {
                guard let close = rest.dropFirst().firstIndex(of: first) else {
                    let name = tokens.count >= 2 ? tokens[tokens.count - 2].singleLine(limit: 40) : "a value"
                    throw Invalid(message: "the quote of \(name) is never closed; write KEY=\"value\",KEY2=\"value\"")
                }
                tokens.append(String(rest[...close]))
                rest = rest[rest.index(after: close)...]
            } else if isInWord(first) {
                var word = String.UnicodeScalarView()
                // Inside a word, quotes are ordinary characters, and a comment does not end the word.
                while let next = rest.first, !isBlank(next) {
                    if next == "#" {
                        rest = rest.drop { $0 != "\n" }.dropFirst()
                        continue
                    }
                    guard isInWord(next) || next == "\"" || next == "'" else { break }
                    word.append(next)
                    rest = rest.dropFirst()
                }
                tokens.append(String(word))
            } else {
                tokens.append(String(first))
                rest = rest.dropFirst()
            }
        }
        return tokens
    }
}

extension String {
    /// The text without quotes of either kind at both ends.
    fileprivate var trimmingQuotes: String {
        let isQuote: (Character) -> Bool = { $0 == "\"" || $0 == "'" }
        var text = drop(while: isQuote)
        while text.last.map(isQuote) ?? false { text.removeLast() }
        return String(text)
    }
}
