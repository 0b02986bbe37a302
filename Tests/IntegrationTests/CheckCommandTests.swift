// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

extension EndToEnd {
    @Suite("watchdogd check")
    struct CheckCommandTests {
        private func check(_ arguments: String...) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program([product("watchdogd"), "check"] + arguments)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        @Test("A directory of valid apps exits with 0, even with warnings")
        func valid() throws {
            let scratch = try Scratch()
            try scratch.write("[App]\nExecStart=/bin/true --on %H --in %t\n", to: "one.app")
            try scratch.write("[App]\nExecStart=/bin/true\nNice=1\nNice=2\n", to: "two@x.app")
            _ = try scratch.makeDirectory("one.app.d")
            try scratch.write("[Watchdog]\nLaunch=5s\n", to: "one.app.d/10.conf")
            let answer = try check(scratch.path)
            #expect(answer.code == 0)
            #expect(
                answer.output == """
                    \(scratch.path)/two@x.app:4:1: warning: Nice= is set again; line 3 has no effect
                        4 | Nice=2
                          | ^~~~
                    2 apps checked: all valid, 1 warning

                    """)
            #expect(
                answer.errors.hasPrefix(
                    "Unless they use a client library or send WATCHDOG=1, nothing watches these apps for hangs;"))
            #expect(answer.errors.contains("\n  one: Probe=tcp:ADDR,"))
        }

        @Test("An app with a probe or with the library's channel is not reported as unwatched")
        func watched() throws {
            let scratch = try Scratch()
            try scratch.write("[App]\nExecStart=/bin/true\n[Watchdog]\nProbe=tcp:80\n", to: "one.app")
            try scratch.write("[App]\nExecStart=/bin/true\n[Watchdog]\nReadiness=channel\n", to: "two.app")
            let answer = try check(scratch.path)
            #expect(answer.code == 0)
            #expect(answer.errors == "")
        }

        @Test("Shell syntax, and a user that does not exist, cause warnings")
        func doubts() throws {
            let scratch = try Scratch()
            let path = try scratch.write(
                "[App]\nExecStart=/bin/echo a | tee \"|\"\nExecStartPre=/bin/echo # b\nUser=nosuch\n", to: "one.app")
            let answer = try check(path)
            #expect(answer.code == 0)
            let lines = answer.output.split(separator: "\n").filter { $0.contains("warning: ") }.map {
                String($0.dropFirst(path.utf8.count + 1))
            }
            let shell = "no shell runs here; the program gets"
            #expect(
                lines == [
                    "2:23: warning: \(shell) | as an argument; for a shell, write /bin/sh -c '…'",
                    "3:24: warning: \(shell) # as an argument; a comment must be on its own line",
                    "4:1: warning: User: user 'nosuch' does not exist on this machine",
                ])
        }

        @Test("A path that a launch would not find on this machine causes a warning with its place")
        func missingPaths() throws {
            let scratch = try Scratch()
            let plain = try scratch.write("", to: "plain")
            let there = try scratch.write("", to: "there.env")
            let here = scratch.path
            let path = try scratch.write(
                """
                [App]
                ExecStart=\(plain)
                WorkingDirectory=\(here)/%N
                EnvironmentFile=\(here)/none.env
                EnvironmentFile=-\(here)/optional.env
                EnvironmentFile=\(there)
                EnvironmentFile=\(here)/*.conf
                StandardOutput=append:\(here)/logs/one.log
                StandardError=file:\(plain)/one.log

                """, to: "one.app")
            let answer = try check(path)
            #expect(answer.code == 0)
            #expect(
                answer.output == """
                    \(path):2:1: warning: ExecStart: \(plain) is not executable on this machine
                    \(path):3:1: warning: WorkingDirectory: \(here)/one does not exist on this machine
                    \(path):4:1: warning: EnvironmentFile: \(here)/none.env does not exist on this machine
                    \(path):7:1: warning: EnvironmentFile: \(here)/*.conf matches no file on this machine
                    \(path):8:1: warning: StandardOutput: the folder \(here)/logs does not exist on this machine
                    \(path):9:1: warning: StandardError: the folder \(plain) is not a directory on this machine
                    1 app checked: all valid, 6 warnings

                    """)
        }

        @Test("A path that may exist later causes no warning: optional, found by another PATH, or of an instance")
        func possiblePaths() throws {
            let scratch = try Scratch()
            let here = scratch.path
            let texts = [
                "optional": "ExecStart=-/nonexistent/x\nWorkingDirectory=-/nonexistent\n",
                "found": "ExecStart=true\nStandardOutput=file:\(here)/new.log\n",
                "own": "ExecStart=tool\nEnvironment=PATH=/nonexistent:\(here)\n",
                "file": "ExecStart=nosuchtool\nEnvironmentFile=\(here)/found.app\n",
                "template@": "ExecStart=\(here)/%i/x\n",
            ]
            #expect(chmod(try scratch.write("", to: "tool"), 0o755) == 0)
            for (name, text) in texts { try scratch.write("[App]\n\(text)", to: "\(name).app") }
            #expect(try check(here).output == "5 apps checked: all valid\n")
            try scratch.write("[App]\nExecStart=tool\nEnvironment=PATH=/nonexistent\n", to: "own.app")
            let warning = "own.app:2:1: warning: ExecStart: tool is not in its PATH on this machine\n"
            #expect(try check(here).output.contains(warning))
        }

        @Test("A folder of drop-ins checks its app, and an empty one is reported")
        func folders() throws {
            let scratch = try Scratch()
            try scratch.write("[App]\nExecStart=/bin/true\n", to: "one.app")
            let dropIns = try scratch.makeDirectory("one.app.d")
            try scratch.write("[App]\nNcie=1\n", to: "one.app.d/10.conf")
            let wrong = try check(dropIns)
            #expect(wrong.code == 65)
            #expect(wrong.output.contains("one.app.d/10.conf:2:1: error: unknown key \"Ncie\""))
            let empty = try check(try scratch.makeDirectory("empty"))
            #expect(empty.code == 0)
            #expect(empty.output.contains("empty: warning: nothing was checked: there is no NAME.app"))
            #expect(empty.output.hasSuffix("\n0 apps checked: 1 warning\n"))
        }

        @Test("Errors exit with 65, and all of them are reported, in text and in JSON")
        func invalid() throws {
            let scratch = try Scratch()
            let path = try scratch.write("[App]\nExecStrat=/bin/true\n[Watchdog]\nLaunch=20\n", to: "web.app")
            let text = try check(path)
            #expect(text.code == 65)
            let unknown = #"web.app:2:1: error: unknown key "ExecStrat" in [App]; did you mean "ExecStart"?"#
            #expect(text.output.contains(unknown))
            #expect(text.output.contains(#"web.app:4:8: error: Launch: "20" has no unit; write 20s or 20ms"#))
            #expect(text.output.hasSuffix("1 app checked: 1 invalid, 2 errors\n"))
            let json = try check("--json", path)
            #expect(json.code == 65)
            let fields = [
                #""errors" : 2"#, #""valid" : false"#, #""line" : 4"#, #""column" : 8"#, #""suggestion" : "ExecStart""#,
            ]
            #expect(fields.filter { !json.output.contains($0) } == [])
        }

        @Test("A missing path, or one that is not a file, exits with 66, and the rest is checked")
        func missing() throws {
            let scratch = try Scratch()
            let valid = try scratch.write("[App]\nExecStart=/bin/true\n", to: "web.app")
            #expect(mkfifo(scratch["pipe.app"], 0o600) == 0)
            let answer = try check(scratch["none.app"], scratch["pipe.app"], valid)
            #expect(answer.code == 66)
            #expect(answer.output.contains("none.app: No such file or directory (ENOENT)"))
            #expect(answer.output.contains("pipe.app: not a regular file"))
            #expect(answer.output.hasSuffix("1 app checked: 2 errors\n"))
        }

        @Test("No path, or an empty one, exits with 64")
        func usage() throws {
            #expect(try check().code == 64)
            #expect(try check("").code == 64)
            #expect(try check("--jsonn", "x").code == 64)
        }
    }
}
