// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    /// script(1) provides a terminal, with its display and its keyboard in pipes.
    @Suite("On a terminal", .enabled(if: isInstalled("script"), "script of bsdutils is not installed"))
    struct TerminalTests {
        private func terminal(_ scratch: Scratch, _ command: String) throws -> Program {
            var environment = testEnvironment()
            environment["XDG_RUNTIME_DIR"] = try scratch.makeDirectory("runtime", mode: 0o700)
            environment["TERM"] = "dumb"
            environment["PS1"] = "$ "
            // The shell splits the value of $RUN at spaces.
            try FileManager.default.createSymbolicLink(
                atPath: scratch["watchdogd"], withDestinationPath: product("watchdogd"))
            environment["RUN"] = "\(scratch["watchdogd"]) run --reports \(scratch["reports"])"
            environment["PYTHON"] = "/usr/bin/python3"
            return try Program(
                ["script", "--quiet", "--return", "--echo", "never", "--command", command, "/dev/null"],
                environment: environment, directory: scratch.path, streams: .pipesAndInput)
        }

        /// A shell with job control.
        private func interactiveShell(_ scratch: Scratch) throws -> Program {
            try terminal(scratch, "bash --norc --noprofile --noediting -i")
        }

        private func expectNothingLeft(_ scratch: Scratch, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(Leftovers.sockets(in: scratch["runtime"], ofSupervisor: 0) == [], sourceLocation: sourceLocation)
        }

        @Test("The program is in the foreground and reads the keyboard; afterwards the shell does")
        func foreground() throws {
            let scratch = try Scratch()
            try scratch.write(
                """
                from wd import *
                say("foreground:", os.tcgetpgrp(0) == os.getpgrp())
                say("read:", input())
                exit(4)
                """, to: "app.py")
            let shell = try interactiveShell(scratch)
            shell.type("$RUN -- $PYTHON app.py\n")
            try shell.line("foreground: True")
            shell.type("some words\n")
            try shell.line("read: some words")
            shell.type("echo code $?\n")
            try shell.line("code 4")
            shell.type("exit 9\n")
            #expect(try shell.end().code == 9)
            expectNothingLeft(scratch)
        }

        @Test("Text is colored on a terminal unless NO_COLOR or --color overrides that; --color also colors a pipe")
        func colors() throws {
            let files = try Scratch()
            try files.write("[App]\nExecStart=/bin/true\nNise=3\n", to: "a.app")
            let check = "\(shellWord(product("watchdogd"))) check"
            let file = files["a.app"]
            let red = "\u{1b}[1;31m"
            #expect(try shown("\(check) \(file)").contains("\(red)\(file):3:1: error:"))
            for plain in [
                "env NO_COLOR=1 \(check) \(file)", "env TERM=dumb \(check) \(file)", "\(check) --color never \(file)",
                "\(check) \(file) | cat",
            ] {
                #expect(try !shown(plain).contains(red), "\(plain)")
            }
            #expect(try shown("\(check) --color always \(file) | cat").contains(red))
            let kill =
                "$RUN --update 300ms -- $PYTHON -c 'from wd import *; notify(\"READY=1\", \"WATCHDOG=1\"); time.sleep(60)'"
            #expect(try shown(kill).contains("\(red)watchdogd:"))
        }

        @Test("Each line of serve begins with the local time and its zone")
        func times() throws {
            let scratch = try Scratch()
            _ = try scratch.makeDirectory("apps")
            try scratch.write("[App]\nExecStart=/bin/sleep 60\n[Watchdog]\nReadiness=none\n", to: "apps/sleeper.app")
            let places = ["apps", "control", "reports"].map { "\(scratch[$0])" }
            let daemon = try terminal(
                scratch,
                "exec env TZ=JST-9 \(shellWord(product("watchdogd"))) serve --user --no-history --config \(places[0]) "
                    + "--control \(places[1]) --reports \(places[2])")
            let line = try daemon.line("sleeper")
            #expect(line.firstMatch(of: /^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d JST sleeper/) != nil, "\(line)")
            daemon.type("\u{3}")
            #expect(try daemon.end().code == 0)
        }

        /// A command's display on a terminal with 20 rows.
        private func shown(_ command: String) throws -> String {
            let scratch = try Scratch()
            defer { withExtendedLifetime(scratch) {} }
            let program = try terminal(scratch, "stty rows 20; unset NO_COLOR; export TERM=xterm; \(command)")
            _ = try program.end()
            return program.text(.output)
        }

        @Test("Long text goes to the configured pager; a missing pager loses nothing")
        func pager() throws {
            let ending = try supervise(
                ["--name", "editor", "--update", "300ms"],
                python(#"notify("READY=1", "WATCHDOG=1"); time.sleep(60)"#))
            let show = "\(shellWord(product("watchdogd"))) report show \(try #require(ending.summary?.report))"
            let paged = try shown("WATCHDOGD_PAGER='sed s/^/page:/' \(show)")
            #expect(paged.contains("page:Incident Identifier:"))
            #expect(paged.contains("page:EOF"))
            #expect(
                try shown("WATCHDOGD_PAGER=/nonexistent/pager \(show)").split(whereSeparator: \.isNewline).contains {
                    $0.hasPrefix("Incident Identifier:")
                })
            #expect(try !shown("WATCHDOGD_PAGER='sed s/^/page:/' \(show) --no-pager").contains("page:"))
            #expect(try !shown("WATCHDOGD_PAGER='sed s/^/page:/' \(show) | cat").contains("page:"))
        }

        @Test("Events go to the pager unless they are followed, and so does a simulation")
        func pagedCommands() throws {
            let service = try Service(["ends": "[App]\nExecStart=/bin/true\n"])
            try service.wait(for: "ends") { $0.state == .stopped }
            let trace = service.scratch["trace.jsonl"]
            let run = try Program(
                [
                    product("watchdogd"), "run", "--trace", trace, "--reports", service.scratch["reports"], "--",
                    "/bin/true",
                ])
            #expect(try run.end().code == 0)
            let pages = "stty rows 2; WATCHDOGD_PAGER='sed s/^/page:/'"
            let events = "\(shellWord(product("watchdogd"))) events --no-follow --control \(service.scratch["control"])"
            let paged = try shown("\(pages) \(events)").split(whereSeparator: \.isNewline)
            #expect(paged.contains { $0.hasPrefix("page:") && $0.contains("launched, pid") })
            #expect(paged.allSatisfy { $0.hasPrefix("page:") }, "\(paged)")
            #expect(try !shown("\(pages) \(events) --no-pager").contains("page:"))
            #expect(try !shown("\(pages) \(events) --json").contains("page:"))
            let simulate =
                "\(shellWord(product("watchdogd"))) simulate \(service.scratch["apps/ends.app"]) --trace \(trace)"
            let lines = try shown("\(pages) \(simulate)").split(whereSeparator: \.isNewline)
            #expect(lines.count > 3 && lines.allSatisfy { $0.hasPrefix("page:") }, "\(lines)")
            #expect(try service.end() == 0)
        }

        @Test("A slow command shows its activity and the elapsed time on a terminal, and erases them")
        func longCalls() throws {
            let command = "\(shellWord(product("watchdogd"))) init --within 1s -- /bin/sleep 60"
            let text = try shown("\(command) >/dev/null")
            #expect(text.contains(#/\[#+-+\] observing /bin/sleep \(\d+ s\)/#), "\(text)")
            #expect(text.contains("\r\u{1b}[K"), "\(text)")
            #expect(try !shown("\(command) 2>&1 >/dev/null | cat").contains("observing"))
            // The program's own output would break the line.
            #expect(
                try !shown("\(command.replacing(" init ", with: " init --show-output ")) >/dev/null").contains(
                    "observing"))
        }

        @Test("^C reaches the program, once, and not watchdogd")
        func interrupt() throws {
            let scratch = try Scratch()
            try scratch.write(
                """
                from wd import *
                count = 0
                def interrupted(*_):
                    global count
                    count += 1
                    say("interrupted")
                signal.signal(signal.SIGINT, interrupted)
                notify("READY=1")
                say("listening")
                end = time.monotonic() + 0.8
                while time.monotonic() < end or not count: time.sleep(0.05)
                say("times:", count)
                exit(5)
                """, to: "app.py")
            let shell = try interactiveShell(scratch)
            shell.type("$RUN -- $PYTHON app.py\n")
            try shell.line("listening")
            shell.type("\u{3}")
            try shell.line("interrupted")
            try shell.line("times: 1")
            shell.type("echo code $?\n")
            try shell.line("code 5")
            shell.type("exit\n")
            try shell.end()
            expectNothingLeft(scratch)
        }

        @Test("^C ends a program that does not handle it, with 130")
        func interrupted() throws {
            let scratch = try Scratch()
            let shell = try interactiveShell(scratch)
            shell.type("$RUN -- sh -c 'echo started; exec sleep 60'\n")
            try shell.line("started")
            shell.type("\u{3}")
            shell.type("echo code $?\n")
            try shell.line("code 130")
            shell.type("exit\n")
            try shell.end()
            expectNothingLeft(scratch)
        }

        @Test("^Z stops the program and watchdogd; fg continues both, in the foreground, and no allowance has run")
        func stop() throws {
            let scratch = try Scratch()
            try scratch.write(
                """
                from wd import *
                notify("READY=1", "WATCHDOG=1")
                say("typing?")
                threading.Thread(target=lambda: push(1000, 0.1), daemon=True).start()
                while True:
                    try: say("read:", input())
                    except EOFError: break
                exit(6)
                """, to: "app.py")
            let shell = try interactiveShell(scratch)
            shell.type("$RUN --update 1s -- $PYTHON app.py\n")
            try shell.line("typing?")
            shell.type("\u{1a}")
            try shell.line("Stopped")
            // Longer than the allowance.
            #expect(try shell.lives(for: .milliseconds(1500)))
            shell.type("jobs\n")
            try shell.line("Stopped")
            shell.type("fg\n")
            try shell.line("python3 is running again after")
            shell.type("words after the stop\n")
            try shell.line("read: words after the stop")
            #expect(try shell.lives(for: .milliseconds(1200)))
            shell.type("\u{4}")
            shell.type("echo code $?\n")
            try shell.line("code 6")
            shell.type("exit\n")
            try shell.end()
            expectNothingLeft(scratch)
        }

        @Test("A program killed with the echo turned off leaves a terminal that echoes")
        func settings() throws {
            let scratch = try Scratch()
            try scratch.write(
                """
                from wd import *
                import termios
                settings = termios.tcgetattr(0)
                settings[3] &= ~(termios.ECHO | termios.ICANON)
                termios.tcsetattr(0, termios.TCSANOW, settings)
                os.system("stty -a")
                notify("READY=1", "WATCHDOG=1")
                hang()
                """, to: "app.py")
            let shell = try terminal(scratch, "stty echo; $RUN --update 600ms -- $PYTHON app.py; echo code $?; stty -a")
            try shell.line(" -echo ")
            try shell.line("code 137")
            try shell.line(" icanon ")
            try shell.end()
            #expect(
                shell.text(.output).components(separatedBy: " -echo ").count == 2, "only the program's own stty says so"
            )
            expectNothingLeft(scratch)
        }

        @Test("If only the foreground may write to the terminal, watchdogd still writes, and is not stopped")
        func backgroundOutput() throws {
            let scratch = try Scratch()
            let shell = try interactiveShell(scratch)
            shell.type("stty tostop\n")
            shell.type("$RUN --verbose -- sh -c 'sleep 0.3; exit 3'; echo code $?\n")
            try shell.line("sh exited with code 3")
            try shell.line("code 3")
            shell.type("exit\n")
            try shell.end()
            #expect(!shell.text(.output).contains("Stopped"))
            expectNothingLeft(scratch)
        }

        @Test("In the background, the program does not take the terminal")
        func background() throws {
            let scratch = try Scratch()
            let shell = try interactiveShell(scratch)
            shell.type("$RUN -- sh -c 'sleep 0.4; echo done in the background' &\n")
            shell.type("echo still here\n")
            try shell.line("still here")
            try shell.line("done in the background")
            shell.type("wait\n")
            shell.type("echo code $?\n")
            try shell.line("code 0")
            shell.type("exit\n")
            try shell.end()
            expectNothingLeft(scratch)
        }
    }
}
