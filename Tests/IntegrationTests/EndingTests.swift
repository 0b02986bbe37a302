// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport

extension EndToEnd {
    @Suite("How a run ends, and what it tells")
    struct EndingTests {
        // MARK: - Exit codes

        @Test("The exit code is the program's own", arguments: [0, 3, 125, 255] as [Int32])
        func exitCode(code: Int32) throws {
            let ending = try supervise([], shell("exit \(code)"))
            #expect(ending.exitCode == code)
            #expect(ending.summary?.exit?.code == code)
            #expect(ending.summary?.exit?.signal == nil)
            #expect(ending.summary?.exitCode == code)
            #expect(ending.output == "")
            #expect(ending.errors == [])
        }

        @Test(
            "A program that a signal ended gives 128 + the signal",
            arguments: [("TERM", 143), ("KILL", 137), ("HUP", 129), ("SEGV", 139), ("ABRT", 134)] as [(String, Int32)])
        func signal(name: String, code: Int32) throws {
            let ending = try supervise([], shell("ulimit -c 0; kill -\(name) $$"))
            #expect(ending.exitCode == code)
            #expect(ending.summary?.exit?.signal == "SIG\(name)")
            #expect(ending.summary?.exit?.code == nil)
            #expect(ending.summary?.termination == "exited")
        }

        // MARK: - Signals

        @Test("Signals other than SIGTERM go on to the program")
        func forwarded() throws {
            let command = python(
                """
                names = ["HUP", "QUIT", "USR1", "USR2", "WINCH", "INT"]
                for name in names:
                    signal.signal(getattr(signal, "SIG" + name), lambda number, _: say(signal.Signals(number).name))
                notify("READY=1")
                say("listening")
                hang()
                """)
            // Tests that run in the background of a shell have it ignored, and watchdogd would as well.
            _ = Glibc.signal(SIGINT, SIG_DFL)
            let run = try Supervision([], command)
            try run.line("listening")
            for (signal, name) in [
                (SIGHUP, "SIGHUP"), (SIGQUIT, "SIGQUIT"), (SIGUSR1, "SIGUSR1"), (SIGUSR2, "SIGUSR2"),
                (SIGWINCH, "SIGWINCH"), (SIGINT, "SIGINT"),
            ] {
                try run.send(signal)
                #expect(try run.line() == name)
            }
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 143)
        }

        @Test("The program starts with default signal dispositions, even if watchdogd was started with ignored ones")
        func dispositions() throws {
            let run = try Supervision(
                [],
                python(
                    "say(signal.getsignal(signal.SIGHUP) == signal.SIG_DFL, signal.pthread_sigmask(signal.SIG_BLOCK, []))"
                ),
                wrapper: ["nohup"])
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.output == "True set()\n")
        }

        // MARK: - --enforce report

        @Test("--enforce report reports, kills nothing, and ends with the program's own exit code")
        func reportOnly() throws {
            let run = try Supervision(
                ["--enforce", "report", "--update", "400ms"],
                python(#"notify("READY=1", "WATCHDOG=1"); time.sleep(1.5); notify("WATCHDOG=1"); exit(6)"#))
            try run.line("] reported: scene-update exhausted 400 ms (0x8badf00d)", on: .errors)
            let ending = try run.end()
            #expect(ending.exitCode == 6)
            let summary = try #require(ending.summary)
            #expect(summary.termination == "exited")
            #expect(summary.incidents.count == 1)
            #expect(summary.incidents.first?.isEnforced == false)
            #expect(summary.incidents.first?.isDeathVerified == nil)
            #expect(summary.hangs.count == 1)
            let report = try #require(ending.reports.first)
            #expect(ending.reports.count == 1)
            #expect(report.body.linux?.enforcement == "report")
            #expect(report.body.linux?.kill.outcome == "none")
            #expect(report.body.isSimulated == 1)
            expectPatience(report)
        }

        @Test("--enforce report tells of each hang once")
        func reportEach() throws {
            let ending = try supervise(
                ["--enforce", "report", "--update", "300ms"],
                python(#"notify("READY=1", "WATCHDOG=1"); [(time.sleep(0.8), notify("WATCHDOG=1")) for _ in range(2)]"#)
            )
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.incidents.count == 2)
            #expect(ending.reports.count == 2)
            #expect(ending.reportPaths.count == Set(ending.reports.map(\.body.incident)).count)
        }

        // MARK: - --expect

        @Test(
            "--expect turns what was expected into 0",
            arguments: [
                ("0x8badf00d", #"notify("READY=1", "WATCHDOG=1"); hang()"#),
                ("0x8badf00d:scene-update", #"notify("READY=1", "WATCHDOG=1"); hang()"#),
                ("0x8badf00d:process-launch", #"notify("STATUS=1"); hang()"#),
                ("0x8badf00d:process-exit", #"notify("READY=1", "STOPPING=1"); hang()"#),
                ("ready", #"notify("READY=1"); hang()"#),
                ("exit:7", #"exit(7)"#),
            ])
        func expected(kind: String, program: String) throws {
            let ending = try supervise(
                ["--expect", kind, "--launch", "1s", "--update", "500ms", "--terminate", "500ms"], python(program))
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.expectation?.isMet == true)
            #expect(ending.summary?.expectation?.expected == kind)
            #expect(!ending.messages.contains { $0.contains("expected") })
        }

        @Test(
            "--expect turns anything else into 1, and says what happened instead",
            arguments: [
                ("0x8badf00d", "exit(0)", "expected 0x8badf00d, but python3 exited with code 0"),
                (
                    "0x8badf00d:scene-update", #"notify("STATUS=1"); hang()"#,
                    "expected 0x8badf00d:scene-update, but python3 was killed for process-launch"
                ),
                ("ready", "exit(0)", "expected ready, but python3 exited with code 0"),
                ("exit:7", "exit(8)", "expected exit:7, but python3 exited with code 8"),
                (
                    "exit:137", #"notify("READY=1", "WATCHDOG=1"); hang()"#,
                    "expected exit:137, but python3 was killed for scene-update"
                ),
            ])
        func unexpected(kind: String, program: String, message: String) throws {
            let ending = try supervise(
                ["--expect", kind, "--launch", "1s", "--update", "500ms"], python(program))
            #expect(ending.exitCode == 1)
            #expect(ending.summary?.expectation?.isMet == false)
            #expect(ending.messages.last == "watchdogd: \(message)")
        }

        // MARK: - How much is told

        @Test("--quiet leaves out what explains, not what fails")
        func quiet() throws {
            let silent = try supervise(["--quiet", "--launch", "200ms"], ["sleep", "0.6"])
            #expect(silent.errors == [])
            let killed = try supervise(
                ["--quiet", "--update", "400ms"], python(#"notify("READY=1", "WATCHDOG=1"); hang()"#))
            #expect(killed.errors.count == 3, "\(killed.errors)")
        }

        @Test("--verbose tells of each step")
        func verbose() throws {
            let ending = try supervise(["--verbose"], python(#"notify("READY=1"); exit(2)"#))
            #expect(ending.messages.contains { $0.hasPrefix("watchdogd: python3 launched, pid ") })
            #expect(ending.messages.contains { $0.hasPrefix("watchdogd: python3 ready after ") })
            #expect(ending.messages.contains("watchdogd: python3 exited with code 2"))
            #expect(ending.messages.contains { $0.hasPrefix("watchdogd: reports: ") })
        }

        @Test("--json - prints the summary to standard output, after all that the program printed")
        func summaryOnOutput() throws {
            let ending = try supervise(["--json", "-"], shell("echo first; exit 3"))
            #expect(ending.exitCode == 3)
            #expect(ending.output.hasPrefix("first\n{"))
            #expect(try Summary(ending.output.dropFirst("first\n".count).utf8).exitCode == 3)
        }

        @Test("--name is the name in messages, summary, report and its file")
        func name() throws {
            let ending = try supervise(
                ["--name", "photo editor", "--update", "400ms"], python(#"notify("READY=1", "WATCHDOG=1"); hang()"#))
            #expect(ending.messages.last?.hasPrefix("watchdogd: photo editor[") == true)
            #expect(ending.summary?.app == "photo editor")
            #expect(ending.reports.first?.metadata.appName == "photo editor")
            #expect(ending.reportPaths.first?.split(separator: "/").last?.contains("photo") == true)
        }

        @Test("--env and --chdir reach the program")
        func environment() throws {
            let ending = try supervise(
                ["--env", "COLOR=blue=green", "--env", "EMPTY=", "--chdir", "/usr/bin"],
                shell(#"echo "$COLOR [$EMPTY] $(pwd) ${EMPTY+set}""#))
            #expect(ending.output == "blue=green [] /usr/bin set\n")
        }

        @Test("A report has no secrets in its arguments and environment")
        func redaction() throws {
            let ending = try supervise(
                ["--update", "400ms", "--env", "API_TOKEN=hunter2hunter2"],
                python(#"notify("READY=1", "WATCHDOG=1"); hang()"#, "--password=correcthorse"))
            let path = try #require(ending.reportPaths.first)
            // Read again as it is on disk.
            let text = String(decoding: contents(of: path) ?? [], as: UTF8.self)
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("correcthorse"))
            #expect(text.contains("<redacted>"))
        }
    }
}
