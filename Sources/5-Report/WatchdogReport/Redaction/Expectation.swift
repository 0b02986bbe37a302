// SPDX-License-Identifier: Apache-2.0

/// The state of the redaction: what the preceding words imply about the next one.
struct Expectation {
    private enum Kind {
        case nothing
        case secret
        /// Inside a quoted secret whose closing quote has not come yet.
        case quoted(Character)
        /// After a name that sounds secret; a following `=` or `:` makes the next word a secret.
        case name
        /// `name:password`.
        case login
    }

    /// Options whose value is a login.
    static let logins: Set<String> = ["-u", "--user", "--proxy-user"]

    /// Options that take a secret, as the next word or attached to the option.
    private static let options: [String: String] = [
        "mysql": "-p", "mysqldump": "-p", "mysqladmin": "-p", "mariadb": "-p", "mariadb-dump": "-p", "sshpass": "-p",
        "redis-cli": "-a", "smbclient": "-U",
    ]
    /// Programs whose option takes only an attached value: the next word may be the name of a database.
    private static let attached: Set<String> = ["mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump"]
    /// Configuration directives, such as those of redis, that are followed by a secret.
    private static let directives: Set<String> = ["requirepass", "masterauth", "identified_by"]

    private var kind = Kind.nothing
    private var program = ""

    /// - Returns: the word with its secret redacted, or nil if the preceding words imply nothing about it.
    mutating func meet(_ word: Substring) -> String? {
        if case .quoted(let quote) = kind {
            if word.contains(quote) { kind = .nothing }
            return Redaction.mark
        }
        if case .name = kind, ["=", ":", ":=", "=>"].contains(word) {
            kind = .secret
            return nil
        }
        let bare = word.drop { "\"'`({".contains($0) }
        let isOption = bare.hasPrefix("--") || (bare.hasPrefix("-") && bare.count == 2)
        let expected = isOption ? .nothing : kind
        let isScheme = ["bearer", "basic"].contains((bare.split(separator: ":").last ?? bare).lowercased())
        if case .secret = expected {
            // "Authorization: Bearer x": the secret follows the scheme.
            kind = isScheme ? .secret : Self.openQuote(word).map { .quoted($0) } ?? .nothing
            return Redaction.mark
        }
        kind = isScheme || introduces(bare) ? .secret : Self.logins.contains(String(bare)) ? .login : .nothing
        if case .nothing = kind, !bare.hasPrefix("-"), !bare.contains("="), SecretName.isLikely(bare) { kind = .name }
        if let own = option(bare) { return own }
        if let name = bare.split(separator: "/").last.map(String.init), Self.options[name] != nil { program = name }
        guard let colon = word.firstIndex(of: ":") else { return nil }
        if case .login = expected { return word[...colon] + Redaction.mark }
        // "-uname:password".
        return bare.hasPrefix("-u") ? word[...colon] + Redaction.mark : nil
    }

    private func introduces(_ bare: Substring) -> Bool {
        if Self.options[program] == String(bare), !Self.attached.contains(program) { return true }
        return (bare.hasPrefix("-") && !bare.contains("=") && SecretName.isLikely(bare))
            || (bare.hasSuffix(":") && SecretName.isLikely(bare)) || Self.directives.contains(bare.lowercased())
    }

    /// Redacts `-psecret` for a program with such an option.
    private func option(_ bare: Substring) -> String? {
        guard let option = Self.options[program], bare.hasPrefix(option), bare.count > option.count else { return nil }
        return option + Redaction.mark
    }

    /// The quote that the word opens but does not close.
    private static func openQuote(_ word: Substring) -> Character? {
        guard let quote = word.first, "\"'".contains(quote), !word.dropFirst().contains(quote) else { return nil }
        return quote
    }
}
