// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Imports of supervisord's files")
struct SupervisordTests {
    private func program(_ text: String, others: [String: String] = [:]) throws -> ImportResult {
        try imported(text, as: "supervisord.conf", others: others)
    }

    private func setting(_ key: String, _ text: String) throws -> String? {
        try program(text).settings.first { $0.hasPrefix(key + "=") }
    }

    @Test("Options that are all indented are options")
    func indented() throws {
        let text =
            "[program:web]\n  command=/usr/bin/web --port 1\n  user=www-data\n  autorestart=true\n  directory=/srv\n"
        let result = try program(text)
        for line in ["ExecStart=/usr/bin/web --port 1", "User=www-data", "Policy=always", "WorkingDirectory=/srv"] {
            #expect(result.settings.contains(line))
        }
        #expect(result.lines == [])
    }

    @Test("A line that is indented further continues the option above it, and is named if it looks like an option")
    func continued() throws {
        let result = try program("[program:web]\ncommand=/bin/web\n    --port 1\n\n    --x 2\n# no\nuser=me\n")
        #expect(result.settings.first == "ExecStart=/bin/web --port 1 --x 2")
        #expect(result.lines == [])
        let slip = try program("[program:web]\ncommand=/bin/web\n  user=me\n")
        #expect(slip.settings.first == "ExecStart=/bin/web user=me")
        #expect(slip.lines.contains { $0.hasPrefix("supervisord.conf:3: changed: \"user=me\" is indented further") })
    }

    @Test("A semicolon after a space begins a comment; within a word it does not")
    func comments() throws {
        for (value, command) in [
            ("/bin/a b ; c", "/bin/a b"), ("/bin/a b # c", "/bin/a b"), ("/bin/a b;c#d", #"/bin/a "b;c#d""#),
            ("/bin/a 'b ; c'", nil),
        ] as [(String, String?)] {
            let text = "[program:a]\ncommand=\(value)\n"
            if let command {
                #expect(try setting("ExecStart", text) == "ExecStart=\(command)", "\(value)")
            } else {
                #expect(failure(text, as: "supervisord.conf")?.contains("2: error: command: the quote") == true)
            }
        }
    }

    @Test("Sections with one name are merged, and the last of equal options counts and is named")
    func repeated() throws {
        let result = try program(
            "[program:a]\ncommand=/bin/a\nuser=x\n[program:b]\ncommand=/bin/b\n[program:a]\nuser=y\n")
        #expect(result.apps.count == 2)
        #expect(result.settings.filter { $0.hasPrefix("User=") } == ["User=y"])
        #expect(
            result.lines == [
                "supervisord.conf:3: dropped: user=x is set again at /srv/supervisord.conf:7, which is what supervisord takes"
            ])
        #expect(try setting("User", "[DEFAULT]\nuser=z\n[program:a]\ncommand=/bin/a\n") == "User=z")
    }

    @Test("Values expand variables from the environment of the program or of supervisord")
    func expansions() throws {
        let daemon = "[supervisord]\nenvironment=ROOT=\"/srv\"\n"
        #expect(
            try setting(
                "ExecStart",
                daemon + "[program:a]\ncommand=%(ENV_ROOT)s/a -p %(ENV_PORT)s\nenvironment=PORT=80%(process_num)02d\n")
                == "ExecStart=/srv/a -p 8000")
        let result = try program("[program:a]\ncommand=/a\nenvironment=PATH=\"/x:%(ENV_PATH)s\",B=\"1\"\n")
        #expect(result.settings.contains("Environment=B=1"))
        #expect(!result.settings.contains { $0.contains("PATH") })
        #expect(result.lines.contains { $0.hasPrefix("supervisord.conf:3: to do: environment: PATH contains") })
        #expect(result.settings.contains("Enabled=no"))
        let others = try program(
            "[program:a]\ncommand=/a\nenvironment=A=\"%(ENV_HOME)s\",B='x,y',C=%(ENV_HOME)s/c,D=d\n")
        #expect(others.settings.filter { $0.hasPrefix("Environment=") } == ["Environment=B=x,y", "Environment=D=d"])
        #expect(others.settings.contains("Enabled=no"))
        #expect(others.lines.filter { $0.contains("to do: environment: ") }.count == 2)
        let inherited = try program(
            "[supervisord]\nenvironment=A=%(ENV_HOME)s,B=b\n[program:a]\ncommand=/a\nenvironment=C=%(ENV_B)s\n")
        #expect(inherited.settings.contains("Environment=C=b") && inherited.settings.contains("Enabled=no"))
        #expect(
            try program("[group:g]\nprograms=a\n[program:a]\ncommand=/a %(group_name)s\n").settings.first
                == "ExecStart=/a g")
    }

    @Test("The note on startsecs= states when a silent app counts as launched")
    func startSeconds() throws {
        let result = try program("[program:a]\ncommand=/a\nstartsecs=10\n")
        #expect(result.lines.contains { $0.contains("counts as launched when Launch= ends, after 20 s") })
    }

    @Test("Variables are read like supervisord reads them, and words that it skips are named")
    func variables() throws {
        for (text, variables) in [
            ("A=\"x,y\",B='it'", ["A=x,y", "B=it"]), ("A=1\n  ,B=2", ["A=1", "B=2"]),
            ("A=\"a=b\" , B=/x:y-z", ["A=a=b", "B=/x:y-z"]),
            ("A=two words", ["A=two"]), ("A=http://x?y=z", ["A=http://x", "y=z"]),
            ("A=x@y,B=50%%", ["A=x@y", "B=50%"]), ("A", nil), ("A=", nil),
            ("A=\"1\" B=\"2\"", nil), ("A=1,A=2,", ["A=2"]),
        ] as [(String, [String]?)] {
            let file = "[program:a]\ncommand=/a\nenvironment=\(text)\n"
            guard let variables else {
                #expect(
                    failure(file, as: "supervisord.conf")?.hasPrefix("supervisord.conf:3: error: environment: ")
                        == true,
                    "\(text)")
                continue
            }
            let result = try program(file)
            let values = try #require(result.apps.first?.definition.configuration).program.environment
            #expect(values.map { "\($0.name)=\($0.value)" } == variables, "\(text)")
            #expect(result.lines.contains { $0.contains("reads over \"words\"") } == (text == "A=two words"))
            #expect(result.lines.contains { $0.contains("supervisord refuses") } == text.contains("@"))
        }
    }

    @Test("Programs run as supervisord's own user, in its directory, unless they override that")
    func inherited() throws {
        let daemon = "[supervisord]\nuser=svc\numask=077\ndirectory=/srv\n[program:a]\ncommand=/bin/a\n"
        let result = try program(daemon)
        for line in ["User=svc", "UMask=077", "WorkingDirectory=/srv"] { #expect(result.settings.contains(line)) }
        #expect(try setting("User", daemon + "user=other\n") == "User=other")
    }

    @Test("An unknown user is left for later")
    func user() throws {
        for user in ["%(ENV_WHO)s", "a b"] {
            let result = try program("[program:a]\ncommand=/bin/a\nuser=\(user)\n")
            #expect(result.notes.first?.kind == .toDo, "\(user)")
            #expect(result.settings.contains("Enabled=no"), "\(user)")
        }
    }

    @Test("Keywords for log files are case-insensitive")
    func logFiles() throws {
        for (word, target) in [
            ("AUTO", "journal"), ("auto", "journal"), ("None", "null"), ("OFF", "null"), ("syslog", "journal"),
            ("/dev/stdout", "inherit"), ("/dev/null", "null"), ("/var/log/a.log", "append:/var/log/a.log"),
        ] {
            let text = "[program:a]\ncommand=/bin/a\nredirect_stderr=true\nstdout_logfile=\(word)\n"
            #expect(try setting("StandardOutput", text) == "StandardOutput=\(target)", "\(word)")
        }
        let both = try program("[program:a]\ncommand=/a\nstdout_logfile=/dev/stdout\nstderr_logfile=/dev/stderr\n")
        #expect(both.settings.contains("StandardError=inherit"))
        #expect(both.lines.contains { $0.contains("4: changed: stderr_logfile=/dev/stderr became inherit") })
    }

    @Test("Input that supervisord rejects is an error at its line")
    func refusals() {
        for (line, words) in [
            ("autostart=maybe", "neither true nor false"), ("redirect_stderr=2", "neither true nor false"),
            ("autorestart=sometimes", "neither true nor false"), ("stopwaitsecs=soon", "not a whole number"),
            ("numprocs=2", "%(process_num)"), ("nonsense", "neither a [section] nor key=value"),
            ("[program:b", "\"]\" is missing"),
        ] {
            let message = failure("[program:a]\ncommand=/bin/a\n\(line)\n", as: "supervisord.conf")
            #expect(message?.contains(words) == true, "\(line): \(message ?? "")")
        }
        #expect(
            failure("[program:a]\ncommand=/a\n[program:b]\ncommand=/b\nprocess_name=a\n", as: "supervisord.conf")?
                .contains("already an app a") == true)
    }

    @Test("Included files are read in order, each with its own folder")
    func included() throws {
        let result = try program(
            "[include]\nfiles = conf.d/*.conf none/*.ini\n",
            others: [
                "/srv/conf.d/b.conf": "[program:a]\nuser=y\n",
                "/srv/conf.d/a.conf": "[program:a]\ncommand=%(here)s/a\n",
                "/srv/conf.d/c.txt": "[program:c]\ncommand=/c\n", "/srv/conf.d/.d.conf": "[program:d]\ncommand=/d\n",
            ])
        #expect(result.apps.map(\.name.description) == ["a"])
        #expect(result.settings.prefix(2) == ["ExecStart=/srv/conf.d/a", "User=y"])
        #expect(result.lines == ["supervisord.conf:2: skipped: files: no file matches \"none/*.ini\""])
    }

    @Test("A command is split like Python's shlex splits it")
    func words() throws {
        #expect(
            try setting("ExecStart", "[program:a]\ncommand=/a \"\\$x\" \"b\\\\c\" d\\ e ''\n")
                == #"ExecStart=/a "\\$$x" "b\\c" "d e" """#)
    }
}
