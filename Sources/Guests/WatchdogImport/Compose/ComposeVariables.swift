// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// `${NAME:-default}` and `$$` in a compose file: compose-spec, "Interpolation".
struct ComposeVariables {
    struct Unknown: Error {
        let message: String
    }

    /// A text whose variables have been replaced.
    struct Replaced {
        var text = ""
        /// Whether a default was used, which compose's environment, unknown here, could override.
        var hasDefaults = false
        /// Whether a value from `.env` was used, which that environment could override, too.
        var hasValues = false
    }

    enum Value: Equatable {
        case text(String)
        /// The message is the reason why it is unknown.
        case unknown(String)
    }

    /// The variables in `.env`.
    var values: [String: Value] = [:]

    /// The maximum length of a text; realistic commands and variables are shorter.
    static let maximumLength = 64 << 10
    /// The maximum nesting of defaults; realistic files have far less.
    private static let maximumDepth = 16

    /// Replaces the variables in a text.
    ///
    /// - Throws: ``Unknown`` for a variable without a value, which only compose's environment has.
    func replaced(_ text: String) throws(Unknown) -> Replaced {
        var replaced = Replaced()
        replaced.text = try self.replaced(text[...], 0, &replaced)
        return replaced
    }

    private func replaced(_ text: Substring, _ depth: Int, _ whole: inout Replaced) throws(Unknown) -> String {
        guard depth < Self.maximumDepth else {
            throw Unknown(message: "the defaults are nested more than 16 levels deep")
        }
        var result = ""
        var rest = text
        while let mark = rest.firstIndex(of: "$") {
            result += rest[..<mark]
            rest = rest[mark...].dropFirst()
            guard result.utf8.count <= Self.maximumLength else {
                throw Unknown(message: "its variables make it longer than 64 KiB")
            }
            if rest.first == "$" {
                result.append("$")
                rest = rest.dropFirst()
            } else if rest.first == "{" {
                guard let close = Self.closing(rest) else { throw Unknown(message: "\"${\" is never closed") }
                let body = rest[..<close].dropFirst()
                rest = rest[close...].dropFirst()
                result += try expanded(body, depth, &whole)
            } else {
                let name = Self.name(rest)
                guard !name.isEmpty else { throw Unknown(message: "a lone \"$\"; compose wants $$ for a dollar sign") }
                rest = rest.dropFirst(name.count)
                result += try value(name, &whole)
            }
        }
        return result + rest
    }

    /// Expands the text between the braces of `${NAME:-default}`.
    private func expanded(_ body: Substring, _ depth: Int, _ whole: inout Replaced) throws(Unknown) -> String {
        let name = Self.name(body)
        var rule = body.dropFirst(name.count)
        guard !name.isEmpty else { throw Unknown(message: "\"${\(body.singleLine(limit: 40))}\" has no name") }
        guard !rule.isEmpty else { return try value(name, &whole) }
        let wantsText = rule.first == ":"
        if wantsText { rule = rule.dropFirst() }
        let other = rule.dropFirst()
        var isSet = false
        switch values[String(name)] {
        case .text(let text): isSet = !wantsText || !text.isEmpty
        case .unknown(let reason): throw Unknown(message: reason)
        case nil: break
        }
        switch rule.first {
        case "-" where isSet: return try value(name, &whole)
        case "-":
            whole.hasDefaults = true
            return try replaced(other, depth + 1, &whole)
        case "?" where isSet: return try value(name, &whole)
        case "?" where values[String(name)] != nil:
            throw Unknown(
                message: "compose refuses an empty ${\(name)}: \(other.singleLine(limit: 80))")
        case "+" where values[String(name)] != nil:
            whole.hasValues = true
            return isSet ? try replaced(other, depth + 1, &whole) : ""
        case "?", "+": throw Self.unknown(name)
        default: throw Unknown(message: "\"${\(body.singleLine(limit: 40))}\" is not what compose reads")
        }
    }

    private func value(_ name: Substring, _ whole: inout Replaced) throws(Unknown) -> String {
        switch values[String(name)] {
        case .text(let text):
            whole.hasValues = true
            return text
        case .unknown(let reason): throw Unknown(message: reason)
        case nil: throw Self.unknown(name)
        }
    }

    /// The index of the brace that closes the one at the start.
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
            message: "the value of ${\(name.singleLine(limit: 40))} is not in the file; "
                + "import what 'docker compose config' prints")
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
