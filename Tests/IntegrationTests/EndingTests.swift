// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux
import WatchdogReport

extension EndToEnd {
    @Suite("The exit of a run, and its messages")
    struct EndingTests {
        // MARK: - Exit codes

        @Test("The exit code is the program's own", arguments: [0, 3, 125, 255] as [Int32])
        func exitCode(code: Int32) throws {
            let ending = try supervise(unhurried(), shell("exit \(code)"))
            #expect(ending.exitCode == code)
            #expect(ending.summary?.exit?.code == code)
            #expect(ending.summary?.exit?.signal == nil)
            #expect(ending.summary?.exitCode == code)
            #expect(ending.output == "")
            #expect(ending.errors == [])
        }

        @Test(
            "A program killed by a signal exits with 128 + the signal",
            arguments: [("TERM", 143), ("KILL", 137), ("HUP", 129), ("SEGV", 139), ("ABRT", 134)] as [(String, Int32)])
        func signal(name: String, code: Int32) throws {
            let ending = try supervise(unhurried(), shell("ulimit -c 0; kill -\(name) $$"))
            #expect(ending.exitCode == code)
            #expect(ending.summary?.exit?.signal == "SIG\(name)")
            #expect(ending.summary?.exit?.code == nil)
            #expect(ending.summary?.termination == "exited")
        }

        // MARK: - Signals

        @Test("Signals other than SIGTERM are forwarded to the program")
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
            // Tests in the background of a shell have it ignored, and watchdogd would inherit that.
            _ = Glibc.signal(SIGINT, SIG_DFL)
            let run = try Supervision(unhurried(), command)
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

        @Test("Unusual signals are forwarded too, including real-time signals")
        func unusualSignals() throws {
            let last = SIGSYS - 1
            let realTime = [__libc_current_sigrtmin(), __libc_current_sigrtmin() + 3, __libc_current_sigrtmax()]
            let passed = [SIGALRM, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGVTALRM, SIGIO, last] + realTime
            let run = try Supervision(
                unhurried(),
                python(
                    """
                    for number in [\(passed.map(String.init).joined(separator: ", "))]:
                        signal.signal(number, lambda number, _: say("signal", number))
                    notify("READY=1")
                    say("listening")
                    hang()
                    """))
            try run.line("listening")
            for signal in passed {
                try run.send(signal)
                #expect(try run.line() == "signal \(signal)")
            }
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 143)
        }

        @Test("SIGTSTP stops the program and watchdogd, SIGCONT continues both, and no allowance runs meanwhile")
        func stop() throws {
            // It leads its session, like an entry point, so that only the test continues it.
            let run = try Supervision(
                ["--update", "1s"],
                python(
                    """
                    notify("READY=1", "WATCHDOG=1")
                    say("running", os.getpid())
                    push(1000, 0.1)
                    """))
            #expect(getsid(run.program.pid) == run.program.pid)
            let pid = try #require(Int32(run.line("running").dropFirst("running ".count)))
            func isStopped(_ pid: Int32) -> Bool { ProcessStat.read(pid)?.state == .stopped }
            for signal in [SIGTSTP, SIGTTIN] {
                try run.send(signal)
                #expect(eventually { isStopped(pid) && isStopped(run.program.pid) })
                // Longer than the allowance.
                #expect(try run.program.lives(for: .milliseconds(1500)))
                #expect(isStopped(pid) && isStopped(run.program.pid))
                try run.send(SIGCONT)
                #expect(eventually { !isStopped(pid) && !isStopped(run.program.pid) })
            }
            try run.line("is running again after", on: .errors)
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 143)
        }

        @Test("A program that handles SIGTSTP stops when it chooses, and watchdogd stops with it")
        func handledStop() throws {
            let run = try Supervision(
                unhurried(),
                python(
                    """
                    def stop(*_):
                        say("saved")
                        os.kill(os.getpid(), signal.SIGSTOP)
                        say("continued")
                    signal.signal(signal.SIGTSTP, stop)
                    notify("READY=1")
                    say("listening")
                    hang()
                    """))
            try run.line("listening")
            try run.send(SIGTSTP)
            try run.line("saved")
            #expect(eventually { ProcessStat.read(run.program.pid)?.state == .stopped })
            try run.send(SIGCONT)
            try run.line("continued")
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 143)
        }

        @Test("The program starts with default signal dispositions, even if watchdogd was started with ignored ones")
        func dispositions() throws {
            let run = try Supervision(
                unhurried(),
                python(
                    "say(signal.getsignal(signal.SIGHUP) == signal.SIG_DFL, signal.pthread_sigmask(signal.SIG_BLOCK, []))"
                ),
                wrapper: ["nohup"])
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.output == "True set()\n")
        }

        // MARK: - --enforce report

        @Test("--enforce report reports, kills nothing, and exits with the program's own exit code")
        func reportOnly() throws {
            let run = try Supervision(
                ["--enforce", "report", "--update", "400ms"],
                python(#"notify("READY=1", "WATCHDOG=1"); time.sleep(1.5); notify("WATCHDOG=1"); exit(6)"#))
            try run.line("] reported: did not answer within 400 ms (0x8badf00d)", on: .errors)
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

        @Test("--enforce report reports each hang once")
        func reportEach() throws {
            let ending = try supervise(
                ["--enforce", "report", "--update", "300ms"],
                python(#"notify("READY=1", "WATCHDOG=1"); [(time.sleep(1.5), notify("WATCHDOG=1")) for _ in range(2)]"#)
            )
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.incidents.count == 2)
            #expect(ending.reports.count == 2)
            #expect(ending.reportPaths.count == Set(ending.reports.map(\.body.incident)).count)
        }

        // MARK: - --expect

        @Test(
            "--expect turns an expected result into 0",
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
            "--expect turns any other result into 1, and states the actual one",
            arguments: [
                ("0x8badf00d", "exit(0)", "expected 0x8badf00d, but python3 exited with code 0"),
                (
                    "0x8badf00d:scene-update", #"notify("STATUS=1"); hang()"#,
                    "expected 0x8badf00d:scene-update, but python3 was killed: not ready within 1 s, waiting for READY=1"
                ),
                ("ready", "exit(0)", "expected ready, but python3 exited with code 0"),
                ("exit:7", "exit(8)", "expected exit:7, but python3 exited with code 8"),
                (
                    "exit:137", #"notify("READY=1", "WATCHDOG=1"); hang()"#,
                    "expected exit:137, but python3 was killed: did not answer within 500 ms"
                ),
            ])
        func unexpected(kind: String, program: String, message: String) throws {
            let ending = try supervise(
                ["--expect", kind, "--launch", "1s", "--update", "500ms"], python(program))
            #expect(ending.exitCode == 1)
            #expect(ending.summary?.expectation?.isMet == false)
            #expect(ending.messages.last == "watchdogd: \(message)")
        }

        @Test("several conditions are all required, and each unmet one states the actual result")
        func several() throws {
            let hang = #"notify("READY=1", "WATCHDOG=1"); hang()"#
            let met = try supervise(
                ["--update", "500ms", "--expect", "killed 0x8badf00d:scene-update", "--expect", "ready within 20s"]
                    + ["--expect", "verdict blocked", "--expect", "frame nanosleep"], python(hang))
            #expect(met.exitCode == 0, "\(met.messages)")
            let missed = try supervise(
                [
                    "--update", "500ms", "--expect", "0x8badf00d", "--expect", "frame loadFeed", "--expect",
                    "no incident",
                ],
                python(hang))
            #expect(missed.exitCode == 1)
            #expect(missed.messages.contains { $0.hasPrefix("watchdogd: expected frame loadFeed, but the stack is ") })
            #expect(missed.messages.last == "watchdogd: expected no incident, but 0x8badf00d:scene-update was reported")
            #expect(missed.summary?.expectation?.isMet == false)
            #expect(missed.summary?.expectation?.expected == "0x8badf00d, frame loadFeed, no incident")
        }

        @Test("a run that expects a launch in time ends with the launch, or when it is too late")
        func launchInTime() throws {
            let ready = try supervise(
                ["--expect", "ready within 20s"], python(#"notify("READY=1"); time.sleep(1000)"#))
            #expect(ready.exitCode == 0)
            let late = try supervise(
                ["--expect", "ready within 300ms"], python(#"time.sleep(1000)"#))
            #expect(late.exitCode == 1)
            #expect(late.messages.last?.hasPrefix("watchdogd: expected ready within 300ms, but python3 ") == true)
        }

        @Test("--for asks a program to exit at its time, and not earlier")
        func limited() throws {
            let long = try supervise(unhurried(["--for", "300ms"]), ["sleep", "1000"])
            #expect(long.summary?.termination == "terminated")
            let short = try supervise(unhurried(["--for", "1h"]), ["sh", "-c", "exit 7"])
            #expect(short.exitCode == 7)
        }

        @Test("expectations and results are written as JUnit and TAP, with the crash log")
        func results() throws {
            let scratch = try Scratch()
            let (junit, tap) = (scratch["results.xml"], scratch["results.tap"])
            let ending = try supervise(
                unhurried(["--update", "500ms", "--expect", "0x8badf00d", "--expect", "frame loadFeed"])
                    + ["--junit", junit, "--tap", tap], python(#"notify("READY=1", "WATCHDOG=1"); hang()"#))
            #expect(ending.exitCode == 1)
            let checker = """
                import sys, xml.etree.ElementTree as tree
                suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
                cases = suite.findall("testcase")
                print(suite.get("tests"), suite.get("failures"), [case.get("name") for case in cases])
                failure = cases[1].find("failure").text.splitlines()
                print(len(failure) <= 30, failure[-1].startswith("Crash log  /"), "Thread 0" in suite.find("system-out").text)
                """
            let reader = try Program(["/usr/bin/python3", "-c", checker, junit])
            #expect(try reader.end().code == 0, "\(reader.text(.errors))")
            #expect(reader.text(.output) == "2 1 ['0x8badf00d', 'frame loadFeed']\nTrue True True\n")
            let lines = String(decoding: contents(of: tap) ?? [], as: UTF8.self).split(separator: "\n")
            #expect(lines.prefix(4) == ["TAP version 13", "1..2", "ok 1 - 0x8badf00d", "not ok 2 - frame loadFeed"])
            #expect(lines.last == "  ...")
        }

        @Test("each step of a script is a test: passed, failed where the script stopped, or skipped afterwards")
        func stepResults() throws {
            let scratch = try Scratch()
            let (junit, tap) = (scratch["results.xml"], scratch["results.tap"])
            let script = try scratch.write(
                "# Stays.\nlaunch\nwait ready\nsleep 300ms\nexpect state background\nterminate\n", to: "steps.wds")
            let ending = try supervise(
                ["--readiness", "none", "--script", script, "--junit", junit, "--tap", tap], ["sleep", "1000"])
            #expect(ending.exitCode == 1)
            let checker = """
                import sys, xml.etree.ElementTree as tree
                suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
                print(*[suite.get(name) for name in ("tests", "failures", "errors", "skipped")])
                for case in suite.findall("testcase"):
                    print(case.get("name"), *[child.tag + " " + child.get("message") for child in case], sep="; ")
                print(300 <= 1000 * float(suite.findall("testcase")[2].get("time")) < 60000)
                """
            let reader = try Program(["/usr/bin/python3", "-c", checker, junit])
            #expect(try reader.end().code == 0, "\(reader.text(.errors))")
            let message = "\(script):5: expect state background: sleep is in the foreground"
            #expect(
                reader.text(.output) == """
                    5 1 0 1
                    line 2: launch
                    line 3: wait ready
                    line 4: sleep 300ms
                    line 5: expect state background; failure \(message)
                    line 6: terminate; skipped the script stopped at line 5
                    True

                    """)
            #expect(ending.messages.last == "watchdogd: the script failed: \(message)")
            let lines = String(decoding: contents(of: tap) ?? [], as: UTF8.self).split(separator: "\n")
            #expect(
                lines.filter { !$0.hasPrefix(" ") } == [
                    "TAP version 13", "1..5", "ok 1 - line 2: launch", "ok 2 - line 3: wait ready",
                    "ok 3 - line 4: sleep 300ms", "not ok 4 - line 5: expect state background",
                    "ok 5 - line 6: terminate # SKIP the script stopped at line 5",
                ])
            #expect(lines.contains("  message: \"\(message)\""))
        }

        // MARK: - Verbosity

        @Test("--quiet omits explanations, but not failures")
        func quiet() throws {
            let silent = try supervise(["--quiet", "--launch", "200ms"], ["sleep", "0.6"])
            #expect(silent.errors == [])
            let killed = try supervise(
                ["--quiet", "--update", "400ms"], python(#"notify("READY=1", "WATCHDOG=1"); hang()"#))
            #expect(killed.errors.count == 4, "\(killed.errors)")
        }

        @Test("--verbose reports each step")
        func verbose() throws {
            let ending = try supervise(unhurried(["--verbose"]), python(#"notify("READY=1"); exit(2)"#))
            #expect(ending.messages.contains { $0.hasPrefix("watchdogd: python3 launched, pid ") })
            #expect(ending.messages.contains { $0.hasPrefix("watchdogd: python3 ready after ") })
            #expect(ending.messages.contains("watchdogd: python3 exited with code 2"))
            #expect(ending.messages.contains { $0.hasPrefix("watchdogd: reports: ") })
        }

        @Test("--json - prints the summary to standard output, after all output of the program")
        func summaryOnOutput() throws {
            let ending = try supervise(unhurried(["--json", "-"]), shell("echo first; exit 3"))
            #expect(ending.exitCode == 3)
            #expect(ending.output.hasPrefix("first\n{"))
            #expect(try Summary(ending.output.dropFirst("first\n".count).utf8).exitCode == 3)
        }

        @Test("--name sets the name in messages, summary, report and file name")
        func name() throws {
            let ending = try supervise(
                unhurried(["--name", "photo editor", "--update", "400ms"]),
                python(#"notify("READY=1", "WATCHDOG=1"); hang()"#))
            #expect(ending.messages.last?.hasPrefix("watchdogd: photo editor[") == true)
            #expect(ending.summary?.app == "photo editor")
            #expect(ending.reports.first?.metadata.appName == "photo editor")
            #expect(ending.reportPaths.first?.split(separator: "/").last?.contains("photo") == true)
        }

        @Test("--env and --chdir reach the program")
        func environment() throws {
            let ending = try supervise(
                unhurried(["--env", "COLOR=blue=green", "--env", "EMPTY=", "--chdir", "/usr/bin"]),
                shell(#"echo "$COLOR [$EMPTY] $(pwd) ${EMPTY+set}""#))
            #expect(ending.output == "blue=green [] /usr/bin set\n")
        }

        @Test("A report redacts secrets in arguments and environment")
        func redaction() throws {
            let ending = try supervise(
                unhurried(["--update", "400ms", "--env", "API_TOKEN=hunter2hunter2"]),
                python(#"notify("READY=1", "WATCHDOG=1"); hang()"#, "--password=correcthorse"))
            #expect(ending.exitCode == 137)
            let path = try #require(ending.reportPaths.first)
            // Read as it is on disk.
            let text = String(decoding: contents(of: path) ?? [], as: UTF8.self)
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("correcthorse"))
            #expect(text.contains("<redacted>"))
        }
    }
}
