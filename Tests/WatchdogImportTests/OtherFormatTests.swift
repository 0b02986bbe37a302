// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogImport

@Suite("Imports of other files")
struct OtherFormatTests {
    @Test("The format follows from the name, or else from the contents")
    func guesses() {
        for (name, text, format) in [
            ("a.service", "", .systemd), ("a", "# x\n[Service]\n", .systemd), ("a.conf", "[program:x]\n", .supervisord),
            ("x.ini", "", .supervisord), ("compose.yaml", "", .compose), ("x", "services:\n", .compose),
            ("monitrc", "", .monit), ("nginx", "check process nginx with pidfile /x\n", .monit), ("x", "hello\n", nil),
        ] as [(String, String, ImportFormat?)] {
            #expect(ImportFormat.guess(ConfigurationFile(path: "/srv/\(name)", text: text)) == format, "\(name)")
        }
        #expect(
            failure("hello\n", as: "x")?.hasPrefix("x: error: cannot tell which service manager this file is for")
                == true)
    }

    // MARK: - supervisord

    private func program(_ lines: String) throws -> ImportResult {
        try imported("[program:web]\ncommand=/bin/web\n\(lines)\n", as: "supervisord.conf")
    }

    @Test("Variables keep quotes, commas and percent signs")
    func environment() throws {
        let result = try program("environment=A=\"x,y\",B='two words' , C=50%%,D=%(here)s/d")
        let variables = result.settings.filter { $0.hasPrefix("Environment=") }
        #expect(
            variables == [
                "Environment=A=x,y", "Environment=\"B=two words\"", "Environment=C=50%%", "Environment=D=/srv/d",
            ])
        let values = try #require(result.apps.first?.definition.configuration).program.environment
        #expect(values.map(\.value) == ["x,y", "two words", "50%", "/srv/d"])
        #expect(
            failure("[program:a]\ncommand=/bin/a\nenvironment=A=\"x\n", as: "supervisord.conf")
                == "supervisord.conf:3: error: environment: the quote of A is never closed; write KEY=\"value\",KEY2=\"value\""
        )
    }

    @Test("A command's words are split like supervisord would split them")
    func words() throws {
        let result = try imported(
            "[program:web]\ncommand=/bin/sh -c \"echo $HOME 'a b' \\\"q\\\"\" ; comment\n", as: "supervisord.conf")
        let command = try #require(result.apps.first?.definition.configuration).program.command
        #expect(command.arguments == ["/bin/sh", "-c", "echo $$HOME 'a b' \"q\""])
    }

    @Test("Each process has an app, up to a hundred")
    func processes() throws {
        #expect(
            try program("numprocs=2\nprocess_name=w%(process_num)d").apps.map(\.name.description) == ["w0", "w1"])
        #expect(try program("numprocs=100\nprocess_name=w%(process_num)d").apps.count == 100)
        #expect(
            failure("[program:a]\ncommand=/bin/a\nnumprocs=101\n", as: "supervisord.conf")
                == "supervisord.conf:3: error: numprocs=101 is not a whole number from 1 to 100")
    }

    @Test("A setting with an unknown variable is dropped; a command with one is an error")
    func unknown() throws {
        #expect(try program("directory=%(ENV_HOME)s").lines.last?.contains("3: dropped: directory=") == true)
        #expect(
            failure("[program:a]\ncommand=/bin/a %(ENV_X)s\n", as: "supervisord.conf")?
                .hasPrefix("supervisord.conf:2: error: command: %(ENV_X)s") == true)
    }

    // MARK: - monit

    @Test("A port test becomes a probe; one that only alerts does not")
    func probes() throws {
        let head = "check process a with pidfile /a\nstart program = \"/bin/a\"\n"
        let result = try imported(
            head + "if failed port 80 for 2 times within 5 cycles then restart\n", as: "monitrc")
        #expect(result.settings.contains("Probe=tcp:localhost:80"))
        #expect(result.settings.contains("ProbeThreshold=2"))
        #expect(result.settings.contains("ProbeInterval=2min"))
        let alert = try imported(head + "if failed port 80 then alert\n", as: "monitrc")
        #expect(!alert.settings.contains { $0.hasPrefix("Probe") })
        let named = try imported(head + "if failed host db.example port 80 then restart\n", as: "monitrc")
        #expect(named.lines.contains { $0.contains("3: dropped: ") && $0.contains("is not an IP address") })
    }

    @Test("A stanza without a start program and an unclosed quote are errors at their line")
    func monitErrors() {
        #expect(failure("\ncheck process a with pidfile /a\n", as: "monitrc")?.hasPrefix("monitrc:2: error: ") == true)
        #expect(
            failure("check process a\nstart program = \"/a\n", as: "monitrc")?.hasPrefix("monitrc:2: error: ") == true)
        #expect(failure("launch a\n", as: "monitrc")?.contains("begins no statement") == true)
    }

    @Test("Whatever a file contains, notes and errors are lines without control characters")
    func controlCharacters() throws {
        let start = "check process a with pidfile /a\nstart program = \"/bin/a\""
        let notes = try imported(start + " as uid \u{1b}[2J and gid \u{202e}x\n", as: "monitrc").notes
        let printed =
            notes.map(\.description) + [failure("[program:a]\ncommand=/a \u{1b}[2J\n", as: "supervisord.conf") ?? ""]
        #expect(printed.contains { $0.contains("to do: uid \\x1b[2J") })
        #expect(printed.allSatisfy { !$0.unicodeScalars.contains("\u{1b}") && !$0.unicodeScalars.contains("\u{202e}") })
    }

    @Test("A test without its action is dropped")
    func monitEndsAfterThen() throws {
        let head = "check process a with pidfile /a\nstart program = \"/bin/a\"\n"
        for test in ["if cpu > 60% then", "if failed port 80 then\n", "if 3 restarts within 5 cycles then # stop"] {
            #expect(try imported(head + test, as: "monitrc").lines.contains { $0.contains("3: dropped: ") }, "\(test)")
        }
    }
}
