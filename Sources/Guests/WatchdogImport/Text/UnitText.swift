// SPDX-License-Identifier: Apache-2.0

/// Writes words and values of app files: "QUOTING" in systemd.syntax(7).
enum UnitText {
    /// Writes the words of a command so that nothing is expanded.
    static func command(_ words: [String]) -> String {
        words.map { quoted(escapedSpecifiers(doubled($0, "$"))) }.joined(separator: " ")
    }

    /// An assignment for `Environment=`.
    static func variable(_ name: String, _ value: String) -> String { quoted(escapedSpecifiers("\(name)=\(value)")) }

    /// Escapes each `%` as `%%`.
    static func escapedSpecifiers(_ text: String) -> String { doubled(text, "%") }

    private static func doubled(_ text: String, _ mark: Character) -> String {
        String(text.flatMap { $0 == mark ? [mark, mark] : [$0] })
    }

    /// Writes one word: unchanged if it has no special characters, otherwise in double quotes.
    private static func quoted(_ word: String) -> String {
        let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-${}~^*?[]()#&|<>!"
        if !word.isEmpty, word.unicodeScalars.allSatisfy({ plain.unicodeScalars.contains($0) || $0.value > 0xa0 }) {
            return word
        }
        var result = "\""
        for scalar in word.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            default:
                if scalar.value < 0x20 || scalar.value == 0x7f {
                    let digits = String(scalar.value, radix: 16)
                    result += "\\x" + (digits.utf8.count == 1 ? "0" : "") + digits
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }

    /// Quotes a word for a POSIX shell.
    static func shell(_ word: String) -> String {
        let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
        if !word.isEmpty, word.allSatisfy({ plain.contains($0) }) { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
