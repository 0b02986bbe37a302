// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Variables of compose files")
struct ComposeVariableTests {
    private func service(_ line: String, _ others: [String: String]) throws -> ImportResult {
        try imported(
            "services:\n  a:\n    entrypoint: /bin/a\n    user: me\n    \(line)\n", as: "compose.yml",
            others: others)
    }

    private static let env = """
        # comment
        SET=value
        EMPTY=
        export EXPORTED=yes
        SINGLE='a # $SET'
        DOUBLE="a # ${SET}\\t\\"\\$SET\\""   # comment
        PLAIN=a b # comment
        HASH=a#b
        COLON: c
        NESTED=${SET}-${NONE:-d}
        BROKEN=${NONE}
        TWICE=1
        TWICE=2
        ALONE
        DOLLAR=a$$b

        """

    @Test(
        "A variable has compose's value from .env",
        arguments: [
            ("${SET}", "value"), ("$SET", "value"), ("${SET}$SET", "valuevalue"), ("${SET:-d}", "value"),
            ("${SET-d}", "value"), ("${SET:?e}", "value"), ("${SET?e}", "value"), ("${SET:+c}", "c"), ("${SET+c}", "c"),
            ("${EMPTY}", ""), ("${EMPTY:-d}", "d"), ("${EMPTY-d}", ""), ("${EMPTY:?e}", nil), ("${EMPTY?e}", ""),
            ("${EMPTY:+c}", ""), ("${EMPTY+c}", "c"), ("${NONE}", nil), ("$NONE", nil), ("${NONE:-d}", "d"),
            ("${NONE-d}", "d"), ("${NONE:?e}", nil), ("${NONE?e}", nil), ("${NONE:-${SET}}", "value"),
            ("${SET:+${EMPTY:-x}}", "x"), ("$$SET", "$SET"), ("$${SET}", "${SET}"), ("${SET}}", "value}"),
            ("${EXPORTED}", "yes"), ("${SINGLE}", "a # $SET"), ("${DOUBLE}", "a # value\t\"$SET\""),
            ("${PLAIN}", "a b"),
            ("${HASH}", "a#b"), ("${COLON}", "c"), ("${NESTED}", "value-d"), ("${BROKEN}", nil), ("${BROKEN:-d}", nil),
            ("${TWICE}", "2"), ("${ALONE}", nil), ("${DOLLAR}", "a$b"), ("${SET", nil), ("${}", nil), ("${SET:}", nil),
            ("${SET:=d}", nil), ("${SET/a/b}", nil), ("${1}", nil), ("a ${set:-x}", "a x"),
        ] as [(String, String?)])
    func values(text: String, value: String?) throws {
        let result = try service("environment: {A: \"\(text)\"}", ["/srv/.env": Self.env])
        let program = try #require(result.apps.first?.definition.configuration).program
        #expect(program.environment.map(\.value) == (value.map { [$0] } ?? []), "\(result.lines)")
        let notes = result.lines.filter { $0.contains(": A: ") }
        #expect(notes.count == (text.hasPrefix("$$") ? 0 : 1), "\(result.lines)")
        if value == nil { #expect(notes.first?.contains("dropped") == true) }
    }

    @Test("A value that would change a command or user has a note, and a value that compose rejects is named")
    func named() throws {
        let env = ["/srv/.env": "WHO=nobody\nPROG=b c\nEMPTY=\n"]
        let result = try imported(
            "services:\n  a:\n    command: /bin/a ${PROG}\n    user: ${WHO}\n", as: "compose.yml", others: env)
        #expect(result.settings.contains("ExecStart=/bin/a b c") && result.settings.contains("User=nobody"))
        for key in ["command", "user"] {
            #expect(
                result.lines.contains {
                    $0.hasSuffix("changed: \(key): variables of compose became their values in .env")
                })
        }
        let refused = try service("working_dir: /${EMPTY:?give one}", env)
        #expect(refused.lines.contains { $0.contains("working_dir: compose refuses an empty ${EMPTY}: give one") })
        let user = try service("group_add: [adm]", env)
        #expect(!user.lines.contains { $0.contains(".env") })
    }

    @Test("A variable without a value takes the one in .env")
    func withoutValue() throws {
        for line in ["environment: [A, B]", "environment: {A: , B: }"] {
            let result = try service(line, ["/srv/.env": "A=1\n"])
            #expect(result.settings.contains("Environment=A=1") && !result.settings.contains { $0.contains("B=") })
            #expect(result.lines.contains { $0.contains("changed: A: has its value in .env") })
            #expect(result.lines.contains { $0.contains("dropped: B: compose takes its value") })
        }
        let unclear = try service("working_dir: /${A}", ["/srv/.env": "A=#b\n"])
        #expect(unclear.lines.contains { $0.contains("/srv/.env:1: is \"#\" a value or a comment there?") })
    }

    @Test("An unknown line in .env is an error at its place if the file has variables")
    func unknownLines() throws {
        for line in ["A='b", "A=\"b\\q\"", "=b", "a b=c", "A='b' c", "A=\"b\nc\""] {
            let files = ["/srv/.env": "B=1\n\(line)\n"]
            #expect {
                try service("working_dir: /${B}", files)
            } throws: { error in
                (error as? ImportError)?.place.description == "/srv/.env:2"
            }
            #expect(try service("working_dir: /b", files).settings.contains("WorkingDirectory=/b"), "\(line)")
        }
        let doubled = "A0=0123456789abcdef\n" + (1..<40).map { "A\($0)=${A\($0 - 1)}${A\($0 - 1)}\n" }.joined()
        let result = try service("working_dir: /${A39}", ["/srv/.env": doubled])
        #expect(result.lines.contains { $0.contains("working_dir: ") && $0.contains("longer than 64 KiB") })
    }

    @Test("An env_file that compose would read differently is left for later; any other is converted")
    func environmentFiles() throws {
        let same = "# c\nA=1\nB='x y'\nC=\"q\"\nD=a#b\nE=\n"
        for (text, words) in [
            (same, nil), ("A=${SET}\n", "a.env:1: compose reads another value for A"),
            ("B=1\nA=x # c\n", "a.env:2: compose reads another value for A"),
            ("export A=1\n", "a.env:1: compose reads another value for A"),
            ("A: 1\n", "compose reads another value for A"),
            ("A=\"x\\n\"\n", "compose reads another value for A"),
            ("A='b\nc'\n", "a.env:1: cannot tell what compose reads"),
            ("A=${NONE}\n", "compose reads another value for A"), ("A=$${x}\n", "compose reads another value for A"),
        ] as [(String, String?)] {
            let result = try service("env_file: a.env", ["/srv/.env": "SET=secret", "/srv/a.env": text])
            #expect(result.settings.contains("EnvironmentFile=/srv/a.env"))
            #expect(result.settings.contains("Enabled=no") == (words != nil), "\(text): \(result.lines)")
            if let words {
                #expect(
                    result.lines.contains { $0.contains("to do: env_file: ") && $0.contains(words) }, "\(result.lines)")
            }
            #expect(!result.lines.contains { $0.contains("secret") })
        }
        // A file that does not exist yet, or that compose does not interpret itself.
        #expect(try service("env_file: b.env", [:]).settings.contains("EnvironmentFile=/srv/b.env"))
    }

    @Test("The override file that compose reads by default is named")
    func override() throws {
        let result = try service("working_dir: /a", ["/srv/compose.override.yaml": "services: {}\n"])
        #expect(
            result.lines.contains { $0.contains("changed: compose reads compose.override.yaml on top of this file") })
        #expect(!(try service("working_dir: /a", [:]).lines.contains { $0.contains("on top") }))
    }
}
