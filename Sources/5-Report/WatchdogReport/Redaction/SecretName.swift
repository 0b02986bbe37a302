// SPDX-License-Identifier: Apache-2.0

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
