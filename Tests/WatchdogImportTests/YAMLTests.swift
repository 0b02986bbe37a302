// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Texts of YAML", .reapsChildren)
struct YAMLTests {
    private func values(_ text: String) throws -> [String: String] {
        let result = try imported(
            "services:\n  a:\n    entrypoint: /bin/a\n    environment:\n\(text)", as: "compose.yml")
        let variables = try #require(result.apps.first?.definition.configuration).program.environment
        return Dictionary(uniqueKeysWithValues: variables.map { ($0.name, $0.value) })
    }

    @Test(
        "A text means what YAML says",
        arguments: [
            ("a # b", "a"), ("a#b", "a#b"), ("a 'b # c'", "a 'b"), ("'a # b' # c", "a # b"),
            ("\"a\\x41\\u00e9\\t\"", "aAé\t"),
            ("\"a\\\\n\"", "a\\n"), ("a\n        b\n\n        c", "a b\nc"),
            ("|\n        a\n          b\n\n        c", "a\n  b\n\nc\n"),
            (">\n        a\n        b\n\n        c\n          d\n        e", "a b\nc\n  d\ne\n"),
            (">-\n        a\n\n\n        b", "a\n\nb"),
            ("|-\n        a # b", "a # b"), ("|+\n        a\n\n", "a\n\n\n"), ("a \"b\" 'c'", "a \"b\" 'c'"),
            ("http://a", "http://a"),
        ])
    func texts(yaml: String, value: String) throws {
        #expect(try values("      A: \(yaml)\n") == ["A": value])
    }

    @Test("An escape that YAML lacks is an error, and a key that a comment hides is none")
    func errors() throws {
        for text in ["A: \"\\q\"", "A: \"\\x4\""] {
            #expect(throws: ImportError.self, "\(text)") { try values("      \(text)\n") }
        }
        let result = try imported(
            "services:\n  a:\n    image: b\n    environment:\n      a # b: c\n", as: "compose.yml")
        #expect(result.lines.contains { $0.contains("5: dropped: environment: a mapping is expected here") })
    }

    /// Texts in the styles of YAML, read by PyYAML too.
    @Test(
        "Texts have the value that another reader finds",
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
        // BaseLoader takes every scalar for a text.
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
            // What is beyond our subset is an error, and never another value.
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
