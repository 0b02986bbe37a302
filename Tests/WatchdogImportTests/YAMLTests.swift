// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("YAML text values", .reapsChildren)
struct YAMLTests {
    private func values(_ text: String) throws -> [String: String] {
        let result = try imported(
            "services:\n  a:\n    entrypoint: /bin/a\n    environment:\n\(text)", as: "compose.yml")
        let variables = try #require(result.apps.first?.definition.configuration).program.environment
        return Dictionary(uniqueKeysWithValues: variables.map { ($0.name, $0.value) })
    }

    @Test(
        "A text has YAML's meaning",
        arguments: [
            ("a # b", "a"), ("a#b", "a#b"), ("a 'b # c'", "a 'b"), ("'a # b' # c", "a # b"),
            ("\"a\\x41\\u00e9\\t\"", "aAé\t"),
            ("\"a\\\\n\"", "a\\n"), ("a\n        b\n\n        c", "a b\nc"),
            ("|\n        a\n          b\n\n        c", "a\n  b\n\nc\n"),
            (">\n        a\n        b\n\n        c\n          d\n        e", "a b\nc\n  d\ne\n"),
            (">-\n        a\n\n\n        b", "a\n\nb"),
            ("|-\n        a # b", "a # b"), ("|+\n        a\n\n", "a\n\n\n"), ("a \"b\" 'c'", "a \"b\" 'c'"),
            ("http://a", "http://a"), ("\"a\n        b\n\n        c\"", "a b\nc"),
            ("'a\n        it''s' # d", "a it's"), ("\"a\\\n        \\ b\\\n        c\"", "a bc"),
            ("\"a \\\" # b\" # c", "a \" # b"), ("\"a\n        # b: c\n        - d\"", "a # b: c - d"),
            ("'a\n\n\n        b'", "a\n\nb"), ("a\n        - b", "a - b"),
        ])
    func texts(yaml: String, value: String) throws {
        #expect(try values("      A: \(yaml)\n") == ["A": value])
    }

    @Test("An escape unknown to YAML is an error, and a key in a comment does not exist")
    func errors() throws {
        for text in [
            "A: \"\\q\"", "A: \"\\x4\"", "A: \"a\n        b", "A: 'a\n      b'", "A: 'a\n        b' c", "A: 'a'b",
            "A: [\"a\\\n        b\"]",
        ] {
            #expect(throws: ImportError.self, "\(text)") { try values("      \(text)\n") }
        }
        let result = try imported(
            "services:\n  a:\n    image: b\n    environment:\n      a # b: c\n", as: "compose.yml")
        #expect(result.lines.contains { $0.contains("5: dropped: environment: a mapping is expected here") })
    }

    @Test(
        "Anchors, aliases and merge keys have YAML's meaning",
        arguments: [
            ("&a\n      A: 1\n      B: 2\n    c: *a", ["A": "1", "B": "2"]),
            ("{A: &x 1, B: *x}", ["A": "1", "B": "1"]), ("{A: &x '1', C: [*x], B: *x}", ["A": "1", "B": "1"]),
            ("\n      <<: *m\n      A: own", ["A": "own", "M": "m"]),
            ("\n      A: own\n      <<: *m", ["A": "own", "M": "m"]),
            ("\n      <<: [*m, *n]", ["A": "m", "M": "m", "N": "n"]),
            ("\n      <<:\n        - *n\n        - *m", ["A": "n", "M": "m", "N": "n"]),
            ("{<<: *n, A: own}", ["A": "own", "N": "n"]),
            ("\n      <<: {A: flow}", ["A": "flow"]), ("*m", ["A": "m", "M": "m"]),
            ("\n      A: &t |\n        text\n      B: *t", ["A": "text\n", "B": "text\n"]),
            ("\n      A: &t a\n        b # c\n      B: *t # d", ["A": "a b", "B": "a b"]),
            ("\n      - &i A=1\n      - B=2", ["A": "1", "B": "2"]),
            ("\n      A: &t # nothing\n      B: 'b'", ["B": "b"]),
            ("\n      A: &t \"x\"\n      B: &t \"y\"\n      C: *t", ["A": "x", "B": "y", "C": "y"]),
        ])
    func anchors(yaml: String, variables: [String: String]) throws {
        let result = try imported(
            """
            x-m: &m {A: m, M: m}
            x-n: &n
              <<: {N: n}
              A: n
            services:
              a:
                entrypoint: /bin/a
                environment: \(yaml)

            """, as: "compose.yml")
        let program = try #require(result.apps.first?.definition.configuration).program
        let values = Dictionary(uniqueKeysWithValues: program.environment.map { ($0.name, $0.value) })
        // Lists are not variables.
        #expect(values == variables, "\(result.lines)")
    }

    /// Random mappings with anchors and merge keys, in both styles.
    private static func mappings(_ random: inout SeededGenerator) -> String {
        var text = ""
        var known = 0
        func entry(_ indent: String, _ isFlow: Bool) -> [String] {
            var entries: [String] = []
            for key in ["A", "B", "C", "D"] where random.oneIn(2) { entries.append("\(key): 'v\(random.below(100))'") }
            if known > 0, random.oneIn(2) {
                let names = (0...random.below(3)).map { _ in "*m\(random.below(known))" }
                let merge = names.count == 1 ? names[0] : "[\(names.joined(separator: ", "))]"
                entries.insert("<<: \(merge)", at: random.below(entries.count + 1))
            }
            return entries
        }
        for number in 0..<4 {
            let isFlow = random.oneIn(2)
            let entries = entry("  ", isFlow)
            let anchor = "x\(number): &m\(number)"
            if isFlow || entries.isEmpty {
                text += "\(anchor) {\(entries.joined(separator: ", "))}\n"
            } else {
                text += "\(anchor)\n" + entries.map { "  \($0)\n" }.joined()
            }
            known += 1
        }
        return text
    }

    @Test(
        "Merged mappings have the values of another parser",
        .enabled(if: output(of: "/usr/bin/python3 -c 'import yaml'").status == 0, "needs python3 with PyYAML"))
    func merges() throws {
        var random = SeededGenerator(seed: testSeed)
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let texts = (0..<60).map { _ in Self.mappings(&random) }
        for (number, text) in texts.enumerated() {
            let service = "services:\n  a:\n    entrypoint: /bin/a\n    environment: {<<: *m3}\n"
            try (text + service).write(toFile: "\(folder)/\(number).yml", atomically: false, encoding: .utf8)
        }
        try """
        import yaml
        for number in range(\(texts.count)):
            document = yaml.safe_load(open("\(folder)/%d.yml" % number))
            values = document["services"]["a"]["environment"]
            print(",".join(f"{key}={values[key]}" for key in sorted(values)) or "-")
        """.write(toFile: "\(folder)/read.py", atomically: false, encoding: .utf8)
        let answer = output(of: "/usr/bin/python3 \(folder)/read.py")
        try #require(answer.status == 0, "\(answer.text)")
        let theirs = answer.text.split(separator: "\n")
        try #require(theirs.count == texts.count)
        for (number, text) in texts.enumerated() {
            let file = try String(contentsOfFile: "\(folder)/\(number).yml", encoding: .utf8)
            let result = try imported(file, as: "compose.yml")
            let program = try #require(result.apps.first?.definition.configuration).program
            let ours = program.environment.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: ",")
            #expect((ours.isEmpty ? "-" : ours) == theirs[number], "\(text), seed \(testSeed)")
        }
    }

    /// Texts in YAML's styles, also parsed by PyYAML.
    @Test(
        "Texts have the value of another parser",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0, "needs python3"))
    func differential() throws {
        var random = SeededGenerator(seed: testSeed)
        let count = 300
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var texts: [String] = []
        for number in 0..<count {
            texts.append("      A: \(Self.text(&random))\n      B: end\n")
            let file = "services:\n  a:\n    entrypoint: /bin/a\n    environment:\n" + texts[number]
            try file.write(toFile: "\(folder)/\(number).yml", atomically: false, encoding: .utf8)
        }
        // BaseLoader reads every scalar as a string.
        try """
        import sys
        try:
            import yaml
        except ImportError:
            sys.exit()
        for number in range(\(count)):
            path = "\(folder)/%d" % number
            try:
                document = yaml.load(open(path + ".yml", encoding="utf-8"), Loader=yaml.BaseLoader)
                value = document["services"]["a"]["environment"]["A"]
            except (yaml.YAMLError, TypeError, KeyError):
                continue
            if isinstance(value, str):
                open(path + ".txt", "w", encoding="utf-8", newline="").write(value)
        open("\(folder)/done", "w").write("yes")
        """.write(toFile: "\(folder)/read.py", atomically: false, encoding: .utf8)
        try run(["/usr/bin/timeout", "\(Int(patience / .seconds(1)))", "/usr/bin/python3", "\(folder)/read.py"])
        guard FileManager.default.fileExists(atPath: "\(folder)/done") else { return print("skipped: no PyYAML") }
        var compared = 0
        for (number, text) in texts.enumerated() {
            // Syntax beyond the supported subset is an error, and never a different value.
            guard let ours = try? values(text)["A"] else { continue }
            let theirs = try? String(contentsOfFile: "\(folder)/\(number).txt", encoding: .utf8)
            guard let theirs else { continue }
            #expect(ours == theirs, "\(text) (seed \(testSeed))")
            compared += 1
        }
        #expect(compared > count / 3)
    }

    private static func text(_ random: inout SeededGenerator) -> String {
        let words = [
            "a", "b:c", "'q", "x#y", "\"z", "it's", "&&", "|", "100%", "-f", "# c", "é", "[d]", "{e}", "--", "'r'",
            "\"s\"", ",", "\t",
        ]
        func line(_ random: inout SeededGenerator) -> String {
            "w" + (0..<random.below(4)).map { _ in " " + random.pick(words) }.joined()
        }
        let indent = String(repeating: " ", count: 8)
        func block(_ random: inout SeededGenerator) -> String {
            (0...random.below(4)).map { number in
                let blanks = number > 0 && random.oneIn(4) ? String(repeating: "\n", count: 1 + random.below(2)) : ""
                let more = number > 0 && random.oneIn(4) ? "  " : ""
                return blanks + indent + more + line(&random) + "\n"
            }.joined()
        }
        switch random.below(6) {
        case 0: return line(&random)
        case 1: return line(&random) + "\n" + indent + line(&random) + (random.oneIn(2) ? "\n\n" + indent + "v" : "")
        case 2: return "'" + line(&random).replacing("'", with: "''") + "'" + random.pick(["", " # c", "  "])
        case 3:
            let escapes = ["\\n", "\\t", "\\\"", "\\\\", "\\x41", "\\u20ac", "\\/", "\\e", "\\_", "\\N"]
            let inner = line(&random).replacing("\"", with: "\\\"") + random.pick(escapes).replacing("\\e", with: "\\t")
            return "\"" + inner + "\"" + random.pick(["", " # c"])
        case 4: return "|" + random.pick(["", "-", "+", " # c"]) + "\n" + block(&random)
        default: return ">" + random.pick(["", "-", "+", "- # c"]) + "\n" + block(&random)
        }
    }
}
