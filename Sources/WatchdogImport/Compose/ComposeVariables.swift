// SPDX-License-Identifier: Apache-2.0

/// `${NAME:-default}` and `$$` in a compose file: compose-spec, "Interpolation".
enum ComposeVariables {
    struct Unknown: Error {
        let message: String
    }

    /// Nobody nests defaults as deeply.
    private static let maximumDepth = 16

    /// The text with its variables' defaults.
    ///
    /// - Throws: ``Unknown`` for a variable without one: its value is in a file or an environment that is not here.
    static func replaced(_ text: String) throws(Unknown) -> (text: String, hasDefaults: Bool) {
        var hasDefaults = false
        return (try replaced(text[...], 0, &hasDefaults), hasDefaults)
    }

    private static func replaced(
        _ text: Substring, _ depth: Int, _ hasDefaults: inout Bool
    ) throws(Unknown) -> String {
        guard depth < maximumDepth else { throw Unknown(message: "the defaults are nested more than 16 levels deep") }
        var result = ""
        var rest = text
        while let mark = rest.firstIndex(of: "$") {
            result += rest[..<mark]
            rest = rest[mark...].dropFirst()
            if rest.first == "$" {
                result.append("$")
                rest = rest.dropFirst()
            } else if rest.first == "{" {
                guard let close = closing(rest) else { throw Unknown(message: "\"${\" is never closed") }
                let body = rest[..<close].dropFirst()
                rest = rest[close...].dropFirst()
                let name = name(body)
                let rule = body.dropFirst(name.count)
                guard let standard = rule.dropping(":-") ?? rule.dropping("-") else { throw unknown(name) }
                hasDefaults = true
                result += try replaced(standard, depth + 1, &hasDefaults)
            } else {
                let name = name(rest)
                guard !name.isEmpty else { throw Unknown(message: "a lone \"$\"; compose wants $$ for a dollar sign") }
                throw unknown(name)
            }
        }
        return result + rest
    }

    /// The brace that closes the one at the start.
    private static func closing(_ text: Substring) -> Substring.Index? {
        var depth = 0
        var previous: Character = "$"
        for index in text.indices {
            let character = text[index]
            if character == "{", previous == "$" { depth += 1 }
            if character == "}" { depth -= 1 }
            if depth == 0 { return index }
            previous = character
        }
        return nil
    }

    private static func name(_ text: Substring) -> Substring {
        guard text.first?.isASCIIDigit != true else { return "" }
        return text.prefix { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isASCIIDigit) }
    }

    private static func unknown(_ name: Substring) -> Unknown {
        Unknown(
            message: "the value of ${\(Printable.text(name, limit: 40))} is not in the file; "
                + "import what 'docker compose config' prints")
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
