// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration

@Suite("Unit syntax")
struct SyntaxTests {
    private func description(_ line: String) throws -> String? {
        try configuration(in: "App", line).program.description
    }

    @Test(
        "Spaces, comments and continued lines have systemd's meaning",
        arguments: [
            ("Description=one", "one"),
            ("  Description \t=\t one two \t", "one two"),
            ("Description=a=b", "a=b"),
            ("Description=1\\\n2\\\n3", "1 2 3"),
            ("# Description=no\\\nDescription=1\\\n2\\\n3", "1 2 3"),
            ("Description=1\\\n# no\\\n2\\\n;no\n   \t# no\n3", "1 2 3"),
            ("Description=1\\\n  ; no\n2", "1 2"),
            ("Description=1\\\n2\\\n3\\\n", "1 2 3"),
            ("Description=1\\\\\\\n\\\\2", "1\\\\ \\\\2"),
            ("Description=ends in two\\\\\nNice=1", "ends in two\\\\"),
            ("Description=a \\\n\nNice=1", "a"),
            ("Description=a # b", "a # b"),
            ("Description=\u{fc}ber \u{1f415}", "\u{fc}ber \u{1f415}"),
            ("Description=first\nDescription=\nDescription=second", "second"),
        ])
    func lines(text: String, value: String) throws {
        #expect(try description(text) == value)
    }

    @Test("An empty value restores the default")
    func emptyValue() throws {
        let program = try configuration(in: "App", "Nice=5\nNice=\nUMask=0077\nUMask=\nDescription=x\nDescription=")
            .program
        #expect(program.niceness == nil)
        #expect(program.fileModeMask == 0o022)
        #expect(program.description == nil)
    }

    @Test("A section may be repeated, names beginning with X- belong to others, and case matters")
    func sections() throws {
        let app = try app(
            """
            [Watchdog]
            Launch=1s
            [X-Mine]
            Anything = goes
            [App]
            X-Key=ignored
            ExecStart=/bin/web
            [ Watchdog ]
            Update=2s
            [app]
            """)
        #expect(app.lines == [#"10:1: error: unknown section [app]; did you mean "[App]"?"#])
    }

    @Test("A byte order mark, CRLF and a missing newline at the end are accepted, as in systemd")
    func foreignEditors() throws {
        let app = try app("\u{feff}[App]\r\nExecStart=/bin/web\\\r\n  --port 80\r\nNice=3")
        #expect(app.diagnostics == [])
        #expect(app.configuration?.program.command.arguments == ["/bin/web", "--port", "80"])
        #expect(app.configuration?.program.niceness == 3)
    }

    @Test(
        "An invalid line of a unit file is reported with its place",
        arguments: [
            ("Nice 5", #"3:1: error: the line has no "=": write Key=Value, or # before a comment"#),
            ("=5", #"3:1: error: the key is missing before "=""#),
            ("[Watchdog", #"3:10: error: the "]" is missing after the section's name"#),
            (
                "[Watchdog] # times",
                "3:12: error: nothing may follow the section's name; comments must be on their own lines"
            ),
            ("[Watchdog]x", "3:11: error: nothing may follow the section's name"),
            (
                "Description=\u{e4}\u{1}b",
                "3:14: error: the control character U+0001: write it as an escape, such as \\t, or leave it out"
            ),
            (
                "Description=a\rb",
                "3:14: error: the control character U+000D: write it as an escape, such as \\t, or leave it out"
            ),
            ("# a NUL\u{0}", "3:8: error: a NUL byte: this is not a text file"),
            (
                "Description=a\\\n\u{1}b\\\n\u{2}c\nNic=5",
                "4:1: error: the control character U+0001: write it as an escape, such as \\t, or leave it out"
            ),
        ])
    func faults(text: String, line: String) throws {
        let app = try app(in: "App", text)
        #expect(app.lines.first == line)
        #expect(app.configuration == nil)
    }

    @Test("An error in a continued line has its place in the file, and the lines after it are parsed")
    func places() throws {
        let app = try app("[App]\nExecStart=/bin/web \\\n  # a comment\n\t--name %y \\\n  --port 'x\nNice=x\n")
        #expect(
            app.lines == [
                "4:9: error: ExecStart: unknown specifier %y; write %%y for a literal %y",
                "5:10: error: ExecStart: the quote that opens here is never closed",
                #"6:6: error: Nice: "x" is not a whole number from -20 to 19"#,
            ])
    }

    @Test("Invalid UTF-8 is reported by line and column, and so are later errors")
    func invalidUTF8() throws {
        var bytes = Array("[App]\nExecStart=/bin/\u{e4}\u{e4}".utf8)
        bytes += [0xff, 0x41, 0x0a]
        bytes += Array("Nice=x\n# \u{e4}".utf8) + [0xc3]
        let app = AppDefinition(
            name: try AppName("web"), files: [ConfigurationFile(path: "web.app", contents: bytes)],
            specifiers: specifiers)
        #expect(
            app.lines == [
                "1:1: error: ExecStart= is missing in [App]: the program to run",
                "2:18: error: the byte 0xff is not valid UTF-8: save the file as UTF-8",
                #"3:6: error: Nice: "x" is not a whole number from -20 to 19"#,
                "4:4: error: the byte 0xc3 is not valid UTF-8: save the file as UTF-8",
            ])
    }

    @Test("A line, with its continuations, has at most a mebibyte; a file has at most four")
    func longLines() throws {
        let room = (1 << 20) - "Description=".utf8.count
        let longest = String(repeating: "x", count: room)
        #expect(try description("Description=\(longest)")?.utf8.count == room)
        #expect(
            try app(in: "App", "Description=\(longest)x\nNice=x").lines.map { $0.prefix(9) }
                == ["3:1: error", "4:6: error"].map { $0.prefix(9) })
        let half = String(repeating: "x", count: 1 << 19)
        let continued = try app(in: "App", "Description=\(half)\\\n\(half)\\\nmore\nNice=x")
        #expect(continued.messages.first == "the line is longer than 1 MiB")
        #expect(continued.diagnostics.map(\.line) == [4, 6])
        let file = try app("[App]\nExecStart=/bin/web\n" + String(repeating: "# comment\n", count: 420_000))
        #expect(
            file.lines.first == " error: the file is longer than 4 MiB"
                || file.messages.first == "the file is longer than 4 MiB")
        #expect(file.configuration == nil)
    }

    @Test("Settings before the first section are reported once, and parsed as part of [App]")
    func outsideOfSections() throws {
        let app = try app("ExecStart=/bin/web\nNice=x\n")
        #expect(
            app.lines == [
                #"1:1: error: the setting comes before the first section; did you mean "[App]"?"#,
                #"2:6: error: Nice: "x" is not a whole number from -20 to 19"#,
            ])
    }

    @Test("The later of two values for one key wins, with a warning in a file and without one in a drop-in")
    func repetition() throws {
        let text = "[App]\nExecStart=/bin/web\nNice=1\nNice=2\n"
        let one = try app(text)
        #expect(one.lines == ["4:1: warning: Nice= is set again; line 3 has no effect"])
        #expect(one.configuration?.program.niceness == 2)
        #expect(one.place(of: .nice)?.description == "web.app:4:1")

        let two = try app("[App]\nExecStart=/bin/web\nNice=1\n", "[App]\nNice=2\n", "[App]\nNice=3\n")
        #expect(two.diagnostics == [])
        #expect(two.configuration?.program.niceness == 3)
        #expect(two.place(of: .nice)?.description == "web.app.d/2.conf:2:1")
        #expect(two.files == ["web.app", "web.app.d/1.conf", "web.app.d/2.conf"])
        #expect(two.place(of: .user) == nil)
    }

    @Test("Lists grow from file to file until an empty value clears them")
    func lists() throws {
        let main = "[App]\nExecStart=/bin/web\nExecStartPre=/bin/a\nEnvironment=A=1 B=1\nSupplementaryGroups=x y\n"
        let more = "[App]\nExecStartPre=/bin/b\nEnvironment=B=2 C=3\nSupplementaryGroups=z\nEnvironmentFile=-/etc/e\n"
        let grown = try #require(try app(main, more).configuration?.program)
        #expect(grown.preparations.map(\.program) == ["/bin/a", "/bin/b"])
        #expect(grown.environment.map { "\($0.name)=\($0.value)" } == ["A=1", "B=2", "C=3"])
        #expect(grown.supplementaryGroups == ["x", "y", "z"])

        let reset = "[App]\nExecStartPre=\nEnvironment=\nEnvironment=D=4\nSupplementaryGroups=\nEnvironmentFile=\n"
        let emptied = try #require(try app(main, more, reset).configuration?.program)
        #expect(emptied.preparations == [])
        #expect(emptied.environment == [EnvironmentVariable(name: "D", value: "4")])
        #expect(emptied.supplementaryGroups == [])
        #expect(emptied.environmentFiles == [])
    }

    @Test("Two apps with the same meaning are equal, so that a reload leaves them alone")
    func equality() throws {
        let one = try app("[App]\nExecStart=/bin/web\nLimitNOFILE=8192\nLimitCORE=0\n[Watchdog]\nLaunch=60s\n")
        let two = try app(
            "# a comment\n[Watchdog]\nLaunch=1min\n[App]\nLimitCORE=0K\nNice=4\nNice=\nLimitNOFILE=1\nExecStart='/bin/web'\n",
            "[App]\nLimitNOFILE=8192:8192\n")
        #expect(one.configuration == two.configuration)
        #expect(one.configuration != nil)
    }
}
