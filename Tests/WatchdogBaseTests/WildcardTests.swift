// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Patterns of names")
struct WildcardTests {
    @Test(
        "A pattern matches whole names like glob(7)",
        arguments: [
            ("web*", "web1", true), ("web*", "web", true), ("web*", "myweb", false), ("*", "a", true),
            ("*", ".a", false), (".*", ".a", true), ("w?b", "web", true), ("w?b", "wb", false),
            ("web[12]", "web2", true), ("web[!12]", "web2", false), ("web[a-c]", "webb", true),
            ("a*b*c", "axxbyyc", true), ("a*b*c", "axxbyy", false), ("[", "[", true),
            ("web", "web", true), ("web", "Web", false),
        ])
    func matches(pattern: String, name: String, doesMatch: Bool) {
        #expect(Wildcard.matches(name, pattern) == doesMatch)
    }

    @Test(
        "A pattern with an unclosed bracket is invalid",
        arguments: [
            ("*", true), ("a?", true), ("[a]", true), ("a[]]", true), ("a[", false), ("a[]", false), ("a]", false),
        ])
    func isPattern(text: String, isPattern: Bool) {
        #expect(Wildcard.isIn(text) == isPattern)
    }

    @Test("A filter is a name or a pattern, case-insensitive")
    func filters() {
        #expect(Wildcard.selects("HangMain", by: "hangmain"))
        #expect(Wildcard.selects("HangMain", by: "hang*"))
        #expect(!Wildcard.selects("HangMain", by: "hang"))
        #expect(!Wildcard.selects("HangMain", by: "*x"))
        // A name with a pattern's characters also stands for itself.
        #expect(Wildcard.selects("a[1]", by: "A[1]"))
    }
}
