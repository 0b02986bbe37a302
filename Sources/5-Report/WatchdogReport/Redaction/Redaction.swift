// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Replaces likely secrets in arguments and environment with `<redacted>`.
///
/// A value is redacted if its name sounds secret, or if the value itself looks secret. Redaction prefers false
/// positives, but there is no guarantee: a short password under a harmless name is not recognized.
public enum Redaction {
    /// The replacement for a secret.
    public static let mark = "<redacted>"

    /// Redacts secrets in a command line; the number of arguments stays the same.
    ///
    /// A secret is `--password=x`, the argument after `--token`, `NAME=x` or `Name: x` with a name that sounds secret,
    /// and everything that ``value(_:)`` redacts.
    public static func arguments(_ arguments: [String]) -> [String] {
        var expectation = Expectation()
        return arguments.map { expectation.meet($0[...]) ?? value($0) }
    }

    /// Redacts secrets in an environment; the names stay.
    public static func environment(_ variables: [String: String]) -> [String: String] {
        variables.reduce(into: [:]) { result, variable in
            if SecretName.harmless.contains(variable.key) || variable.value.isEmpty {
                result[variable.key] = variable.value
            } else {
                result[variable.key] = SecretName.isLikely(variable.key[...]) ? mark : value(variable.value)
            }
        }
    }

    /// Redacts secrets in the lines of a log; the number of lines stays the same.
    ///
    /// A private key spans several lines, from `-----BEGIN` to `-----END`.
    public static func lines(_ lines: [String]) -> [String] {
        var isInKey = false
        return lines.map { line in
            let begins = line.contains("-----BEGIN")
            defer { isInKey = (begins || isInKey) && !line.contains("-----END") }
            return begins || isInKey ? mark : value(line)
        }
    }

    /// Redacts secrets within one text, word by word: `NAME=x` with a secret name, a header such as `Cookie: x`, the
    /// word after `Bearer` or `--password`, the login in a URL, a private key, tokens of known services, and long
    /// random-looking strings.
    public static func value(_ text: String) -> String {
        if text.contains("-----BEGIN") { return mark }
        if let colon = text.firstIndex(of: ":"), !text[..<colon].contains(where: \.isWhitespace),
            SecretName.isLikely(text[..<colon]), text[text.index(after: colon)...].first == " "
        {
            return text[...colon] + " " + mark
        }
        var expectation = Expectation()
        var result = ""
        for word in words(text) {
            result += word.first?.isWhitespace == true ? String(word) : expectation.meet(word) ?? redacted(word)
        }
        return result
    }

    /// Alternating runs of whitespace and of other characters, in order; a quoted value after `=` or `:` is part of its
    /// word.
    private static func words(_ text: String) -> [Substring] {
        var words: [Substring] = []
        var start = text.startIndex
        while start < text.endIndex {
            let isBlank = text[start].isWhitespace
            var end = start
            var previous: Character = " "
            while end < text.endIndex, text[end].isWhitespace == isBlank {
                let next = text.index(after: end)
                if "\"'".contains(text[end]), "=:".contains(previous),
                    let close = text[next...].firstIndex(of: text[end])
                {
                    end = close
                }
                previous = text[end]
                end = text.index(after: end)
            }
            words.append(text[start..<end])
            start = end
        }
        return words
    }

    /// - Parameter depth: the nesting level of the value; limited, so that `a=b=c=…` cannot exhaust the stack.
    private static func redacted(_ word: Substring, depth: Int = 0) -> String {
        if word.hasPrefix("jdbc:oracle:"), let login = word.lastIndex(of: "@") { return mark + word[login...] }
        guard let scheme = word.firstRange(of: "://") else { return redactedPairs(word, depth: depth) }
        let name = word[..<scheme.lowerBound]
        if let equals = name.lastIndex(of: "=") {
            return SecretName.isLikely(name[..<equals])
                ? name[...equals] + mark
                : name[...equals] + redacted(word[word.index(after: equals)...], depth: depth)
        }
        return word[..<scheme.upperBound] + redactedAuthority(word[scheme.upperBound...], depth: depth)
    }

    /// Redacts the login and the values of secret names in `user:password@host/path?token=x`.
    private static func redactedAuthority(_ rest: Substring, depth: Int) -> String {
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        var login = rest[..<end].lastIndex(of: "@")
        if login == nil, let colon = rest[..<end].firstIndex(of: ":"),
            !rest[rest.index(after: colon)..<end].allSatisfy(\.isASCIIDigit)
        {
            // The text after the colon is not a port, so it is a password with an unescaped slash.
            login = rest.lastIndex(of: "@")
        }
        guard let login else { return redactedPairs(rest, depth: depth) }
        return mark + "@" + redactedPairs(rest[rest.index(after: login)...], depth: depth)
    }

    /// Redacts the values of secret names, and values that look random, in `a=b&c=d`.
    private static func redactedPairs(_ text: Substring, depth: Int) -> String {
        var result = ""
        var start = text.startIndex
        while let separator = text[start...].firstIndex(where: { "&;,?".contains($0) }) {
            result += redactedPair(text[start..<separator], depth: depth) + String(text[separator])
            start = text.index(after: separator)
        }
        return result + redactedPair(text[start...], depth: depth)
    }

    private static func redactedPair(_ text: Substring, depth: Int) -> String {
        if let colon = text.firstIndex(of: ":"), text.index(after: colon) != text.endIndex,
            !text[..<colon].contains("/"), !text[..<colon].contains("="), SecretName.isLikely(text[..<colon])
        {
            return text[...colon] + mark
        }
        guard let equals = text.firstIndex(of: "="), text.index(after: equals) != text.endIndex else {
            return RandomText.isLikely(text) || KnownToken.isLikely(text) ? mark : String(text)
        }
        let value = text[text.index(after: equals)...]
        if Expectation.logins.contains(String(text[..<equals])), let colon = value.firstIndex(of: ":") {
            return text[...colon] + mark
        }
        let isHidden = SecretName.isLikely(text[..<equals]) || depth == 8
        return text[...equals] + (isHidden ? mark : redacted(value, depth: depth + 1))
    }
}

/// Names whose values are secrets.
enum SecretName {
    /// Names that sound secret, or whose values look random, but which are harmless and useful for diagnosis.
    static let harmless: Set<String> = ["PWD", "OLDPWD", "INVOCATION_ID", "SSH_AUTH_SOCK"]

    private static let parts = [
        "PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "PWD", "SECRET", "TOKEN", "KEY", "CREDENTIAL", "AUTH", "COOKIE",
        "DSN", "PRIVATE", "SIGNATURE", "BEARER", "JWT", "SALT", "CONNECTIONSTRING",
    ]
    /// Words that are too short for a substring search.
    private static let words: Set<String> = ["PASS", "PW", "PIN", "PSK", "SIG", "SAS", "OTP", "CRED", "CREDS"]
    private static let passes: Set<String> = ["COMPASS", "BYPASS", "TRESPASS", "OVERPASS", "UNDERPASS"]

    static func isLikely(_ name: Substring) -> Bool {
        let capitals = name.prefix(256).uppercased()
        let letters = capitals.filter { $0.isLetter || $0.isNumber }
        if harmless.contains(String(name)) { return false }
        if parts.contains(where: { letters.contains($0) }) { return true }
        return capitals.split { !$0.isLetter }.contains { word in
            words.contains(String(word)) || (word.hasSuffix("PASS") && !passes.contains(String(word)))
        }
    }
}
