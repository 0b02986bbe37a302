// SPDX-License-Identifier: Apache-2.0

/// The possible values of a script's variables at one point: after `X=exec`, `$X program` executes the program.
struct ShellVariables: Equatable {
    /// The possible results of an expansion.
    enum Expansion {
        /// These words, or none.
        case words([ShellWord])
        /// Words that are not in the script, which are unlikely to be shell commands.
        case anything
        /// Unknown words that contain `exec` from the script.
        case perhapsExec
    }

    private enum Value: Hashable {
        case text(String)
        case unset
        case anything
        case perhapsExec
    }

    /// The maximum number of values of one variable.
    private static let maximumCount = 8

    /// The variables that the script has set; all others are from the environment.
    private var values: [String: Set<Value>] = [:]

    /// Executes `NAME=VALUE`.
    mutating func assign(_ word: ShellWord) {
        guard let (name, isAddition) = word.assigned else { return }
        if isAddition {
            values[name] = [Self.unknown(word)]
        } else if let value = word.value {
            values[name] = [.text(String(value.drop { $0 != "=" }.dropFirst()))]
        } else if let other = ShellWord(String(word.text.drop { $0 != "=" }.dropFirst())).variable?.name {
            values[name] = values[other] ?? [.anything]
        } else {
            values[name] = [Self.unknown(word)]
        }
    }

    /// Makes the value of a variable unknown.
    mutating func forget(_ name: String, isUnset: Bool) { values[name] = [isUnset ? .unset : .anything] }

    /// The possible values after either of two paths.
    func merged(with other: ShellVariables) -> ShellVariables {
        var merged = self
        for name in Set(values.keys).union(other.values.keys) {
            // Assume that the environment does not set a variable that the script sets itself.
            let both = (values[name] ?? [.unset]).union(other.values[name] ?? [.unset])
            merged.values[name] = both.count > Self.maximumCount ? [.perhapsExec] : both
        }
        return merged
    }

    /// The possible results of a word with an expansion.
    func values(of word: ShellWord) -> [Expansion] {
        guard let (name, isQuoted) = word.variable else {
            return [Self.unknown(word) == .anything ? .anything : .perhapsExec]
        }
        guard let values = values[name] else { return isQuoted ? [.anything] : [.anything, .words([])] }
        return values.map { value in
            switch value {
            case .anything: .anything
            case .perhapsExec: .perhapsExec
            case .unset: .words(isQuoted ? [ShellWord("")] : [])
            case .text(let text):
                .words(
                    isQuoted
                        ? [ShellWord(text)]
                        : text.split { " \t\n".contains($0) }.map { ShellWord(String($0)) })
            }
        }
    }

    private static func unknown(_ word: ShellWord) -> Value {
        word.text.contains("exec") ? .perhapsExec : .anything
    }
}

extension ShellWord {
    /// Creates a word from an expansion, in which no character is special to the shell.
    fileprivate init(_ text: String) { self.init(text: text, value: text, isPlain: false) }

    /// Whether it is `NAME=VALUE` or `NAME+=VALUE`; the name cannot be quoted.
    var isAssignment: Bool { assigned != nil }

    fileprivate var assigned: (name: String, isAddition: Bool)? {
        guard let mark = text.firstIndex(of: "=") else { return nil }
        let isAddition = text[..<mark].last == "+"
        let name = isAddition ? text[..<mark].dropLast() : text[..<mark]
        return Self.isName(name) ? (String(name), isAddition) : nil
    }

    /// The variable, if it is the whole word: `$NAME`, `${NAME}` or one of them in double quotes.
    fileprivate var variable: (name: String, isQuoted: Bool)? {
        guard text.first == "$" else { return nil }
        var name = text.dropFirst()
        // The lexer omits the opening brace.
        if name.last == "}" { name = name.dropLast() }
        return Self.isName(name) ? (String(name), isQuoted) : nil
    }

    private static func isName(_ name: Substring) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return name.unicodeScalars.allSatisfy {
            $0 == "_" || $0.isASCII && $0.properties.isAlphabetic || (0x30...0x39).contains($0.value)
        }
    }
}
