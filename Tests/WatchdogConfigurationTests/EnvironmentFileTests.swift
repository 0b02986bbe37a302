// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogConfiguration

@Suite("Files of variables")
struct EnvironmentFileTests {
    private func read(_ text: String) -> EnvironmentFile.Contents {
        EnvironmentFile.read(ConfigurationFile(path: "/etc/default/web", text: text))
    }

    @Test(
        "are parsed as in systemd.exec(5)",
        arguments: [
            ("A=b", "A=b"), ("A=b\nC=d\n", "A=b|C=d"), ("  A = b c  \n", "A=b c"), ("A=\nB=", "A=|B="),
            ("# c\n; d\n\nno assignment\nA=b", "A=b"), ("# a comment \\\nA=b", "A=b"), ("A=b # c", "A=b # c"),
            ("A='b  c'", "A=b  c"), ("A=\"b  c\"  ", "A=b  c"), ("A='b\nc'\nD=e", "A=b\nc|D=e"),
            ("A=\"b\\\nc\"", "A=bc"),
            ("A=b\\\nc", "A=bc"), ("A=b\\ c\\\\d\\'", "A=b c\\d'"), ("A='b\\n'", "A=b\\n"),
            (#"A="b\n\"\$\`\\""#, #"A=b\n"$`\"#),
            ("A=b'c'", "A=b'c'"), ("A='b'\"c\"d", "A=bcd"), ("A='b' c", "A=bc"), ("A=b\r\nB=c\r\n", "A=b|B=c"),
            ("A=b=c", "A=b=c"),
            ("\u{feff}A=b", "A=b"), ("A=1\nA=2", "A=1|A=2"), ("A=b\\ ", "A=b "), ("A=\u{e4}", "A=\u{e4}"),
        ])
    func files(text: String, variables: String) {
        let contents = read(text)
        #expect(contents.variables.map { "\($0.name)=\($0.value)" }.joined(separator: "|") == variables)
        #expect(contents.diagnostics == [])
    }

    @Test("omit invalid lines, with a warning that does not show the value")
    func invalid() {
        let contents = read("export A=secret\n1B=secret\nC=ok\nD=\u{0}secret\nE='secret")
        #expect(contents.variables.map(\.name) == ["C", "E"])
        #expect(
            contents.diagnostics.map(\.description) == [
                #"/etc/default/web:1:1: warning: "export A" is not a variable name"#,
                #"/etc/default/web:2:1: warning: "1B" is not a variable name"#,
                "/etc/default/web:4:1: warning: the value of D contains a NUL byte",
                "/etc/default/web:5:1: warning: the quote of this value is never closed",
            ])
        let binary = EnvironmentFile.read(ConfigurationFile(path: "x", contents: Array("A=".utf8) + [0xff]))
        #expect(binary.variables == [])
        #expect(binary.diagnostics.map(\.message) == ["the value of A is not valid UTF-8"])
    }

    @Test("never trap, whatever the bytes are, and report a bounded number of problems")
    func hostile() {
        var generator = SeededGenerator(seed: 4)
        let alphabet = Array("A=b'\"\\ \n#;$".utf8) + [0, 0xff, 0x0d]
        for _ in 0..<5_000 {
            let bytes = (0..<generator.below(200)).map { _ in generator.pick(alphabet) }
            let contents = EnvironmentFile.read(ConfigurationFile(path: "x", contents: bytes))
            if contents.diagnostics.count > 21 { Issue.record("\(bytes)") }
        }
        #expect(
            read(String(repeating: "#\n", count: 3 << 20)).diagnostics.map(\.message) == [
                "the file is longer than 4 MiB and is not read"
            ])
    }
}
