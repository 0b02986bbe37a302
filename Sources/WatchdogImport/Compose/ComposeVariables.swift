// SPDX-License-Identifier: Apache-2.0

/// `${NAME:-default}` and `$$` in a compose file: compose-spec, "Interpolation".
enum ComposeVariables {
    struct Unknown: Error {
        let message: String
    }

    /// The text with its variables' defaults.
    ///
    /// - Throws: ``Unknown`` for a variable without one: its value is in a file or an environment that is not here.
    static func replaced(_ text: String) throws(Unknown) -> String {
        guard text.contains("$") else { return text }
        var result = ""
        var rest = text[...]
        while let mark = rest.firstIndex(of: "$") {
            result += rest[..<mark]
            rest = rest[rest.index(after: mark)...]
            if rest.first == "$" {
                result.append("$")
                rest = rest.dropFirst()
            } else if rest.first == "{" {
                guard let close = rest.firstIndex(of: "}") else { throw Unknown(message: "\"${\" is never closed") }
                let body = rest[..<close].dropFirst()
                rest = rest[close...].dropFirst()
                let name = body.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
                let rule = body.dropFirst(name.count)
                guard let standard = rule.dropping(":-") ?? rule.dropping("-") else { throw unknown(name) }
                result += standard
            } else {
                let name = rest.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
                guard !name.isEmpty else { throw Unknown(message: "a lone \"$\"; compose wants $$ for a dollar sign") }
                throw unknown(name)
            }
        }
        return result + rest
    }

    private static func unknown(_ name: Substring) -> Unknown {
        Unknown(
            message: "the value of ${\(Printable.text(name, limit: 40))} is not in the file; "
                + "import what 'docker compose config' prints")
    }
}
