// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Imports of compose files")
struct ComposeTests {
    private func services(_ text: String) throws -> ImportResult {
        try imported("services:\n" + text, as: "compose.yml")
    }

    private func error(_ text: String) -> String? { failure(text, as: "compose.yml") }

    @Test("The common forms of YAML have the same meaning")
    func forms() throws {
        for text in [
            "  a:\n    entrypoint: [/bin/a, \"b c\", 'd''e']\n",
            "  a:\n    entrypoint:\n      - /bin/a\n      - \"b c\"  # comment\n      - 'd''e'\n",
            "  a:\n    entrypoint:\n    - /bin/a\n    - b c\n    - d'e\n",
            "  \"a\": {entrypoint: [/bin/a,\n    b c, \"d'e\"]}\n",
            "  a:\n    entrypoint: >-\n      /bin/a\n      'b c' \"d'e\"\n",
            "  a:\n\n    # comment\n    entrypoint: /bin/a \"b c\"\n      \"d'e\"\n",
        ] {
            let command = try #require(try services(text).apps.first?.definition.configuration).program.command
            #expect(command.arguments == ["/bin/a", "b c", "d'e"], "\(text)")
        }
    }

    @Test("Syntax beyond the subset is one error at its line")
    func errors() {
        for (text, line, words) in [
            ("&x x: 1\nservices: {}\n", 1, "anchors and aliases of keys"),
            ("services:\n  a: *x\n", 2, "no anchor &x"), ("x: &x [*x]\n", 1, "no anchor &x"),
            ("services:\n  a:\n    <<: x\n", 3, "merge key wants"), ("services: !!map\n", 1, "tags"),
            ("services:\n  a: {<<: [1]}\n", 2, "merge key wants"), ("x: &x &y 1\n", 1, "such anchors"),
            ("services:\n  a:\n    \"<<\": {}\n", 3, "in quotes"), ("a: {\"<<\": {}}\n", 1, "in quotes"),
            ("services:\n  - &a b: c\n", 2, "of keys"), ("a: &x 1\nb: *x c\n", 2, "nothing may follow the alias"),
            ("services:\n  a: {<<: {b: 1}, <<: {c: 1}}\n", 2, "twice"), ("a: [&x *y]\n", 1, "wants a value"),
            ("services:\n\ta: 1\n", 2, "tab"), ("services:\n  a: [1, 2\n", 2, "never closed"),
            ("services:\n  a: \"x\n", 2, "never closed"), ("services:\n  a: 1\n   b: 2\n", 3, "indentation"),
            ("services:\n  a: 1\n  a: 2\n", 3, "twice"), ("a: 1\n---\nb: 2\n", 2, "one document"),
            ("services:\n  a:\n    image: x\n  b\n", 4, "not \"key: value\""),
        ] {
            let message = error(text)
            #expect(message?.hasPrefix("compose.yml:\(line): error: ") == true, "\(text): \(message ?? "")")
            #expect(message?.contains(words) == true, "\(text): \(message ?? "")")
        }
        #expect(error("a: 1\n") == "compose.yml: error: there is no \"services:\" with services in the file")
    }

    @Test("Nesting is limited to 32 levels")
    func depth() {
        func nested(_ count: Int) -> String {
            (0..<count).map { String(repeating: " ", count: $0) + "a:\n" }.joined()
        }
        #expect(error(nested(31))?.contains("no \"services:\"") == true)
        #expect(error(nested(40))?.contains("32 levels") == true)
        #expect(
            error("services: " + String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000))?
                .contains("16 levels") == true)
    }

    @Test("Aliases may expand a little, but not beyond memory")
    func bombs() throws {
        func bomb(_ levels: Int) -> String {
            var text = "x0: &x0 [a, b]\n"
            for level in 1...levels {
                let aliases = Array(repeating: "*x\(level - 1)", count: 8).joined(separator: ", ")
                text += "x\(level): &x\(level) [\(aliases)]\n"
            }
            return text + "services:\n  a: {entrypoint: /bin/a, environment: *x\(levels)}\n"
        }
        #expect(error(bomb(3)) == nil)
        #expect(error(bomb(9))?.contains("the aliases repeat more than 2 MiB") == true)
        var tower = "x0: &x0 a\n"
        for level in 1..<100 { tower += "x\(level): &x\(level) [[[[*x\(level - 1)]]]]\n" }
        #expect(error(tower)?.contains("32 levels") == true)
    }

    @Test("A check that only requests a page from this machine becomes an http probe")
    func pages() throws {
        for (test, probe) in [
            ("curl -f http://localhost:80/h || exit 1", "http://localhost:80/h"),
            ("wget -q --spider http://127.0.0.1/", "http://127.0.0.1/"),
            ("curl -f http://web/h", "exec:curl -f http://web/h"),
            ("curl -f -H x http://localhost/", "exec:curl -f -H x http://localhost/"),
            ("curl -f https://localhost/", "exec:curl -f https://localhost/"),
            ("curl -f http://localhost/ | grep ok", "exec:curl -f http://localhost/ | grep ok"),
        ] {
            let result = try services("  a:\n    entrypoint: /bin/a\n    healthcheck:\n      test: \(test)\n")
            #expect(result.settings.contains("Probe=\(probe)"), "\(test)")
        }
    }

    @Test("A list's words reach the shell unchanged")
    func quoting() throws {
        let result = try services(
            "  a:\n    entrypoint: /bin/a\n    healthcheck: {test: [CMD, check, \"it's 5%\", $$X]}\n")
        #expect(result.settings.contains(#"Probe=exec:check 'it'\''s 5%%' '$X'"#))
        for test in ["[NONE]", "[\"NONE\"]"] {
            let off = try services("  a:\n    entrypoint: /bin/a\n    healthcheck: {test: \(test)}\n")
            #expect(!off.settings.contains { $0.hasPrefix("Probe") })
        }
    }

    @Test("Launch is the start period plus all retries")
    func launch() throws {
        let result = try services(
            "  a:\n    entrypoint: /bin/a\n    healthcheck: {test: 'true', interval: 5s, retries: 4, start_period: 1m}\n"
        )
        #expect(result.settings.contains("Launch=1min 20s"))
        #expect(result.settings.contains("ProbeThreshold=4"))
    }

    @Test("A service whose command only the image knows is left for later")
    func images() throws {
        let result = try services("  a:\n    image: nginx\n")
        #expect(result.notes.first?.kind == .toDo)
        #expect(result.settings.contains("Enabled=no"))
    }
}
