// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogConfiguration

@Suite("Words and commands")
struct QuotingTests {
    /// Lines and their words in systemd 252; ``SystemdComparisonTests`` compares them.
    static let words: [(line: String, words: [String])] = [
        (#"a b"#, ["a", "b"]),
        (#"  a   b  "#, ["a", "b"]),
        (#""a b" 'c d'"#, ["a b", "c d"]),
        (#"a"b c"d"#, ["ab cd"]),
        (#"a'b c'"d e""#, ["ab cd e"]),
        (#""" ''"#, ["", ""]),
        (#""it's" 'say "hi"'"#, ["it's", #"say "hi""#]),
        (#"\x41\102\u00e4\U0001f415"#, ["AB\u{e4}\u{1f415}"]),
        (#"'\x41' "\t""#, ["A", "\t"]),
        (#"a\sb\\c\"d\'e"#, [#"a b\c"d'e"#]),
        (#"\a\b\f\n\r\t\v"#, ["\u{7}\u{8}\u{c}\n\r\t\u{b}"]),
        (#"\xc3\xa4"#, ["\u{e4}"]),
        (#"a\;b ; "#, [#"a\;b"#]),
        (#"\; x"#, [";", "x"]),
        (#""\;" x"#, [#"\;"#, "x"]),
        (#"";" x"#, [";", "x"]),
        (#"a;b x; ;y"#, ["a;b", "x;", ";y"]),
        (#"100%% %%n"#, ["100%", "%n"]),
        (#"> /dev/null & | <"#, [">", "/dev/null", "&", "|", "<"]),
        (#"--opt="a b" --opt='c'd"#, ["--opt=a b", "--opt=cd"]),
        (#"$$ $$FOO"#, ["$$", "$$FOO"]),
        (#"-c 'echo "$HOME" $1'"#, ["-c", #"echo "$HOME" $1"#]),
        (#"\q \x4 \400 \u00 \U00110000"#, [#"\q"#, #"\x4"#, #"\400"#, #"\u00"#, #"\U00110000"#]),
        ("a\tb", ["a", "b"]),
        (#"ünï "cödé""#, ["ünï", "cödé"]),
    ]

    @Test("Words are unquoted as systemd does it", arguments: words)
    func unquoted(line: String, words: [String]) throws {
        let app = try app("[App]\nExecStart=/bin/web \(line)\n")
        #expect(app.configuration?.program.command.arguments == ["/bin/web"] + words)
        #expect(app.diagnostics.allSatisfy { $0.severity == .warning })
    }

    @Test("An unknown escape stands for itself, with a warning")
    func unknownEscapes() throws {
        let app = try app(#"[App]\#nExecStart=/bin/grep 'a\.b' \x00 \w\#n"#)
        #expect(app.configuration?.program.command.arguments == ["/bin/grep", #"a\.b"#, #"\x00"#, #"\w"#])
        #expect(
            app.lines == [
                #"2:23: warning: \. is not an escape sequence, so the backslash stays; write \\ for a backslash"#,
                #"2:28: warning: \x is not an escape sequence, so the backslash stays; write \\ for a backslash"#,
                #"2:33: warning: \w is not an escape sequence, so the backslash stays; write \\ for a backslash"#,
            ])
    }

    @Test(
        "Text that cannot be split into words is reported at its beginning",
        arguments: [
            (#"/bin/web "a b"#, "2:20: error: ExecStart: the quote that opens here is never closed"),
            (#"/bin/web it's"#, "2:22: error: ExecStart: the quote that opens here is never closed"),
            (
                "/bin/web a\\ ",
                "2:21: error: ExecStart: the value ends in a backslash; it continues the line only as the last character of a line"
            ),
            (#"/bin/web '\xff'"#, "2:20: error: ExecStart: the escapes in this word make no UTF-8"),
        ])
    func unsplittable(line: String, message: String) throws {
        #expect(try app("[App]\nExecStart=\(line)\n").lines == [message])
    }

    @Test("Whatever is quoted as the manual says comes out as it was")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 0x9070)
        let alphabet: [Unicode.Scalar] = [
            "a", " ", "\"", "'", "\\", "\t", "\n", ";", "#", "é", "🐕", "=", "-", "x", "\u{7f}",
        ]
        for _ in 0..<2_000 {
            let words = (0...generator.below(4)).map { _ in
                String(String.UnicodeScalarView((0..<generator.below(8)).map { _ in generator.pick(alphabet) }))
            }
            let line = words.map { quoted($0, &generator) }.joined(separator: " ")
            let app = try app("[App]\nExecStart=/bin/web \(line)\n")
            #expect(app.diagnostics == [], "\(line)")
            #expect(app.configuration?.program.command.arguments == ["/bin/web"] + words, "\(line)")
        }
    }

    private func quoted(_ word: String, _ generator: inout SeededGenerator) -> String {
        let mark = generator.pick(["\"", "'"])
        let inner = word.unicodeScalars.map { scalar -> String in
            switch scalar {
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\u{7f}": "\\x7f"
            case _ where String(scalar) == mark: "\\" + mark
            default: String(scalar)
            }
        }
        return mark + inner.joined() + mark
    }

    // MARK: - Commands

    @Test("Prefixes say how a command runs")
    func prefixes() throws {
        let program = try configuration(
            in: "App",
            "ExecStartPre=-/bin/a\nExecStartPre=+:/bin/b $X\nExecStartPre=@/bin/c name x\nExecStartPre=-@:+/bin/d d"
        ).program
        let commands = program.preparations
        #expect(commands.map(\.program) == ["/bin/a", "/bin/b", "/bin/c", "/bin/d"])
        #expect(commands.map(\.arguments) == [["/bin/a"], ["/bin/b", "$X"], ["name", "x"], ["d"]])
        #expect(commands.map(\.ignoresFailure) == [true, false, false, true])
        #expect(commands.map(\.isPrivileged) == [false, true, false, true])
        #expect(commands.map(\.replacesVariables) == [true, false, true, false])
    }

    @Test("Semicolons separate commands where there may be several")
    func semicolons() throws {
        let program = try configuration(
            in: "App", "ExecStartPre=/bin/a x ; /bin/b \\; y ;\nExecReload=/bin/c ';' ; /bin/d"
        ).program
        #expect(program.preparations.map(\.arguments) == [["/bin/a", "x"], ["/bin/b", ";", "y"]])
        #expect(program.reloadCommands.map(\.arguments) == [["/bin/c", ";"], ["/bin/d"]])
    }

    @Test(
        "An impossible command is reported",
        arguments: [
            ("./web", #""./web" is a relative path; write an absolute path, or only the name to search PATH for it"#),
            (
                "bin/web",
                #""bin/web" is a relative path; write an absolute path, or only the name to search PATH for it"#
            ),
            ("/usr/bin/", #""/usr/bin/" names a directory"#),
            ("-", "the program is missing"),
            ("@/bin/web", "the prefix @ needs the program's argv[0] as the next word"),
            ("$SHELL", "the program cannot be a variable"),
            ("/bin/${X}", "the program cannot be a variable"),
            ("!/bin/web", "only systemd's prefixes -, @, : and + are supported"),
            ("+/bin/web", "the prefix + is only for ExecStartPre= and ExecReload=; leave out User= instead"),
            ("'/bin/w\\x01b'", "the program's name contains a control character"),
            ("..", #"".." is not a program name"#),
            (
                "/bin/a ; /bin/b",
                "an app has one command; run others before it with ExecStartPre=, and write a lone ; as \\;"
            ),
            (";", "a command is missing"),
            ("/bin/web $FOO/x", #""$FOO/x" is not a variable: inside a word, a variable needs braces"#),
            ("/bin/web $1", #""$1" is not a variable; write $$ for a dollar sign"#),
            ("/bin/web $", #""$" is not a variable; write $$ for a dollar sign"#),
            ("/bin/web a${#x}b", #""${#x}" is not a variable; write $${ to pass ${ to the program"#),
            ("/bin/web %", "a lone \"%\"; write %% for a percent sign"),
        ])
    func invalidCommands(line: String, message: String) throws {
        let app = try app("[App]\nExecStart=\(line)\n")
        #expect(app.messages == ["ExecStart: \(message)"])
        #expect(app.configuration == nil)
    }

    @Test("A plain name is searched, a path with blanks is quoted, and the first word may hold specifiers")
    func programs() throws {
        func program(_ line: String) throws -> String? {
            try app("[App]\nExecStart=\(line)\n").configuration?.program.command.program
        }
        #expect(try program("python3 -m http.server") == "python3")
        #expect(try program("'/opt/My App/run'") == "/opt/My App/run")
        #expect(try program("-/opt/%p/bin/%p") == "/opt/web/bin/web")
    }

    @Test("There is one command; a drop-in replaces it after an empty one, as in systemd")
    func replacement() throws {
        let main = "[App]\nExecStart=/bin/a\n"
        #expect(
            try app(main, "[App]\nExecStart=\nExecStart=/bin/b\n").configuration?.program.command.program == "/bin/b")
        #expect(
            try app(main, "[App]\nExecStart=/bin/b\n").lines == [
                "web.app.d/1.conf:2:11: error: ExecStart: a command is already set in line 2 of web.app; clear it first with an empty ExecStart="
            ])
        #expect(
            try app("[App]\nExecStart=/bin/a\nExecStart=/bin/b\n").lines == [
                "3:11: error: ExecStart: a command is already set in line 2; clear it first with an empty ExecStart="
            ])
        #expect(
            try app(main, "[App]\nExecStart=\n").lines == [
                "1:1: error: ExecStart= is missing in [App]: the program to run"
            ])
        #expect(try app("").lines == [" error: ExecStart= is missing in [App]: the program to run"])
    }

    // MARK: - Variables

    @Test(
        "Variables are replaced as systemd.service(5) has it",
        arguments: [
            ("$ONE $TWO ${TWO}", ["one", "two", "two", "two two"]),
            ("${ONE}/x a${TWO}b", ["one/x", "atwo twob"]),
            ("$UNSET ${UNSET} x", ["", "x"]),
            ("$QUOTED ${QUOTED}", ["two two", "too", "'two two' too"]),
            ("$EMPTY x", ["x"]),
            ("$$ONE $${ONE} a$$b", ["$ONE", "${ONE}", "a$b"]),
            ("'$ONE' \"${ONE}\"", ["one", "one"]),
            ("'echo $ONE ${ONE:-x} ${ONE'", ["echo $ONE ${ONE:-x} ${ONE"]),
            ("a$ b$", ["a$", "b$"]),
            ("$ODD", ["a b", "c\\d", ""]),
            ("$OPEN", ["a b c "]),
        ])
    func variables(line: String, expected: [String]) throws {
        let environment = [
            "ONE": "one", "TWO": "two two", "QUOTED": "'two two' too", "EMPTY": "", "ODD": "a\\ b c\\\\d ''",
            "OPEN": "a\" b c ",
        ]
        let app = try app("[App]\nExecStart=/bin/web \(line)\n")
        let command = try #require(app.configuration?.program.command, "\(app.lines)")
        #expect(command.argumentsReplacingVariables { environment[$0] } == ["/bin/web"] + expected)

        var literal = command
        literal.replacesVariables = false
        #expect(literal.argumentsReplacingVariables { _ in "x" } == command.arguments)
    }
}
