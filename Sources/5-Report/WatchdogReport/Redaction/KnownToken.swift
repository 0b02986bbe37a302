// SPDX-License-Identifier: Apache-2.0

/// Recognizes tokens of services by their prefixes, under any name.
enum KnownToken {
    /// The prefixes of tokens, and the minimum number of characters that follow.
    private static let beginnings: [(prefix: String, length: Int)] = [
        // GitHub, GitLab.
        ("ghp_", 16), ("gho_", 16), ("ghu_", 16), ("ghs_", 16), ("ghr_", 16), ("github_pat_", 16), ("glpat-", 12),
        // Slack, Stripe, SendGrid, Shopify.
        ("xoxb-", 10), ("xoxa-", 10), ("xoxp-", 10), ("xoxr-", 10), ("xoxs-", 10), ("xapp-", 10), ("sk_live_", 8),
        ("sk_test_", 8), ("rk_live_", 8), ("whsec_", 8), ("SG.", 12), ("shpat_", 16),
        // Package registries and model hosts.
        ("npm_", 20), ("pypi-", 16), ("hf_", 20), ("sk-", 16), ("dop_v1_", 6),
        // Google.
        ("AIza", 30), ("ya29.", 10), ("GOCSPX-", 10),
    ]
    /// AWS access keys: four letters, followed by 16 capitals and digits.
    private static let accessKeys = ["AKIA", "ASIA", "AIDA", "AROA"]

    /// Whether a text is such a token, possibly in quotes.
    static func isLikely(_ text: Substring) -> Bool {
        let token = text.drop { "\"'`([{<".contains($0) }.prefix {
            $0.isASCII && ($0.isLetter || $0.isNumber || "_-.+/=".contains($0))
        }
        for (prefix, length) in beginnings where token.hasPrefix(prefix) && token.count >= prefix.count + length {
            return true
        }
        let run = token.prefix { $0.isNumber || $0.isUppercase }
        if run.count == 20, accessKeys.contains(String(run.prefix(4))) { return true }
        return isSecretKey(token)
    }

    /// 40 characters of Base64 without padding, as in AWS secret keys; a path begins with a slash or contains a dot.
    private static func isSecretKey(_ token: Substring) -> Bool {
        token.count == 40 && token.first != "/" && token.allSatisfy { $0.isLetter || $0.isNumber || "+/".contains($0) }
            && token.contains(where: \.isNumber) && token.contains(where: \.isUppercase)
            && token.contains(where: \.isLowercase)
    }
}
