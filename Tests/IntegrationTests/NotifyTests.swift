// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogReport

extension EndToEnd {
    @Suite("Programs that use sd_notify")
    struct NotifyTests {
        @Test("READY and STATUS arrive, and the watchdog's variables are set, with the program's own pid")
        func ready() throws {
            let command = python(
                """
                assert os.environ["WATCHDOG_PID"] == str(os.getpid())
                assert os.environ["WATCHDOG_USEC"] == "120000000"
                notify("READY=1", "STATUS=serving")
                time.sleep(0.1)
                notify("STATUS=served all")
                """)
            let ending = try supervise(unhurried(["--update", "2min"]), command)
            #expect(ending.exitCode == 0)
            #expect(ending.errors == [])
            #expect(ending.summary?.launch?.source == "notify")
            #expect(ending.summary?.status == "served all")
        }

        @Test(
            "Messages of a program that root starts and that drops to another user count",
            .enabled(if: geteuid() == 0, "needs root"))
        func changedUser() throws {
            let command = python(
                """
                os.setgroups([]); os.setgid(65534); os.setuid(65534)
                notify("READY=1")
                push(5, 0.05)
                notify(f"STATUS=as user {os.getuid()}")
                """)
            let ending = try supervise(unhurried(["--readiness", "notify", "--update", "2min"]), command)
            #expect(ending.exitCode == 0)
            #expect(ending.errors == [])
            #expect(ending.summary?.launch?.source == "notify")
            #expect(ending.summary?.status == "as user 65534")
        }

        @Test("A program that stops sending WATCHDOG=1 is killed once its allowance is over")
        func silence() throws {
            let command = python(#"notify("READY=1", "STATUS=busy"); push(5, 0.1); notify("STATUS=stuck"); hang()"#)
            let ending = try supervise(["--update", "800ms"], command)
            #expect(ending.exitCode == 137)
            let incident = try #require(ending.summary?.incidents.first)
            #expect(incident.event == "scene-update")
            #expect(incident.allowanceMilliseconds == 800)
            #expect(incident.verdictKind == "blocked")
            let report = try #require(ending.reports.first)
            #expect(report.body.linux?.status == "stuck")
            #expect(report.body.linux?.pings?.answered == 5)
            expectPatience(report)
        }

        @Test("A program that keeps sending WATCHDOG=1 survives, though each allowance is short")
        func signsOfLife() throws {
            let ending = try supervise(["--update", "500ms"], python(#"notify("READY=1"); push(30, 0.05)"#))
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        @Test("A program that never sends WATCHDOG=1 is not watched for it")
        func noWatchdog() throws {
            let ending = try supervise(
                unhurried(["--update", "200ms"]), python(#"notify("READY=1"); time.sleep(1); exit(3)"#))
            #expect(ending.exitCode == 3)
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        @Test("WATCHDOG_USEC sets the allowance from the program")
        func ownAllowance() throws {
            let ending = try supervise(
                unhurried(["--update", "60s"]),
                python(#"notify("READY=1", "WATCHDOG=1", "WATCHDOG_USEC=600000"); hang()"#))
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.allowanceMilliseconds == 600)
        }

        @Test("WATCHDOG_USEC=0 turns the watch off")
        func noAllowance() throws {
            let ending = try supervise(
                ["--update", "300ms"],
                python(#"notify("READY=1", "WATCHDOG=1"); notify("WATCHDOG_USEC=0"); time.sleep(1)"#))
            #expect(ending.exitCode == 0)
        }

        @Test("EXTEND_TIMEOUT_USEC with progress extends a launch")
        func extended() throws {
            let command = python(
                """
                for step in range(6):
                    notify("EXTEND_TIMEOUT_USEC=1000000", f"PROGRESS={step}")
                    time.sleep(0.25)
                notify("READY=1")
                """)
            let ending = try supervise(["--launch", "800ms", "--verbose"], command)
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.launch?.milliseconds ?? 0 > 1400)
            #expect(ending.messages.contains { $0.contains("extended its launch allowance by") })
        }

        @Test("A STATUS that changes counts as progress")
        func extendedByStatus() throws {
            let command = python(
                """
                for step in range(6):
                    notify("EXTEND_TIMEOUT_USEC=1000000", f"STATUS=migrating {step} of 6")
                    time.sleep(0.25)
                notify("READY=1")
                """)
            #expect(try supervise(["--launch", "800ms"], command).exitCode == 0)
        }

        @Test("EXTEND_TIMEOUT_USEC without progress is rejected: a stuck program cannot extend its time forever")
        func extendedBlindly() throws {
            let command = python(
                """
                while True:
                    notify("EXTEND_TIMEOUT_USEC=60000000")
                    time.sleep(0.2)
                """)
            let ending = try supervise(["--launch", "800ms"], command)
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "process-launch")
            #expect(
                ending.messages.contains { $0.hasSuffix("asked for more time without showing progress; refused") })
        }

        @Test("WATCHDOG=trigger requests the program's own kill")
        func trigger() throws {
            let ending = try supervise(
                unhurried(["--update", "60s"]), python(#"notify("READY=1"); notify("WATCHDOG=trigger"); hang()"#))
            #expect(ending.exitCode == 137)
            #expect(ending.messages.last?.hasSuffix("it asked for this with WATCHDOG=trigger (0x8badf00d)") == true)
            #expect(ending.reports.first?.body.linux?.allowance.kind == "triggered")
        }

        @Test("EXTEND_TIMEOUT_USEC with progress extends the termination, unrequested or requested")
        func extendedEnd() throws {
            let farewell =
                """
                for step in range(6):
                    notify("EXTEND_TIMEOUT_USEC=1000000", f"PROGRESS={step}")
                    time.sleep(0.25)
                os._exit(4)
                """
            let own = try supervise(
                ["--terminate", "800ms", "--verbose"],
                python(
                    "import os\nnotify('READY=1'); notify('STOPPING=1', 'EXTEND_TIMEOUT_USEC=900000', 'PROGRESS=0 %')\n"
                        + farewell))
            #expect(own.exitCode == 4)
            #expect(own.messages.contains { $0.contains("extended its terminate allowance by") })

            let run = try Supervision(
                ["--terminate", "800ms"],
                python(
                    "import os\ndef end(*_):\n" + farewell.split(separator: "\n").map { "    \($0)\n" }.joined()
                        + "signal.signal(signal.SIGTERM, end); notify('READY=1'); say('listening'); hang()"))
            try run.line("listening")
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 4)
        }

        @Test("A terminating program that keeps requesting time without progress is killed")
        func stuckEnd() throws {
            let ending = try supervise(
                ["--terminate", "600ms"],
                python(
                    """
                    notify("READY=1", "STOPPING=1")
                    while True:
                        notify("EXTEND_TIMEOUT_USEC=60000000")
                        time.sleep(0.1)
                    """))
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "process-exit")
        }

        @Test("STOPPING=1 starts the terminate allowance, and a program that exits in time is not killed")
        func stopping() throws {
            let ending = try supervise(
                unhurried(["--verbose"]),
                python(#"notify("READY=1"); notify("STOPPING=1"); time.sleep(0.2); exit(4)"#))
            #expect(ending.exitCode == 4)
            #expect(ending.messages.contains { $0.hasSuffix("says that it is terminating") })
        }

        @Test("STOPPING=1 starts the terminate allowance, and a program that does not exit is killed for process-exit")
        func stoppingForEver() throws {
            let ending = try supervise(
                unhurried(["--terminate", "600ms"]), python(#"notify("READY=1"); notify("STOPPING=1"); hang()"#))
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "process-exit")
        }

        @Test("MAINPID makes a daemon the main process: the run outlives the first process, and ends with the daemon")
        func mainProcess() throws {
            let command = python(
                """
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        notify(f"MAINPID={os.getpid()}", "READY=1")
                        say("daemon", os.getpid())
                        time.sleep(3)
                        os._exit(23)
                    os._exit(0)
                os.wait()
                time.sleep(0.3)
                say("launcher ends")
                """)
            let run = try Supervision([], command)
            let daemon = try run.line("daemon ").split(separator: " ").last.flatMap { Int32($0) }
            try run.line("launcher ends")
            #expect(try run.program.lives(for: .milliseconds(100)))
            let ending = try run.end()
            #expect(ending.exitCode == 23)
            #expect(ending.summary?.exit?.code == 23)
            #expect(ending.summary?.pid == daemon)
        }

        @Test(
            "A launcher that exits just after naming its daemon still hands over",
            arguments: 1...4)
        func quickHandover(round: Int) throws {
            let command = python(
                """
                ready, go = os.pipe()
                daemon = os.fork()
                if daemon == 0:
                    os.setsid()
                    os.read(ready, 1)
                    time.sleep(0.6)
                    os._exit(24)
                notify(f"MAINPID={daemon}", "READY=1")
                os.write(go, b"!")
                os._exit(0)
                """)
            #expect(try supervise([], command).exitCode == 24)
        }

        @Test("A program's last message counts, however soon it exits", arguments: 1...4)
        func lastWords(round: Int) throws {
            let ending = try supervise(
                unhurried(),
                python(
                    #"notify("STATUS=late"); channel().send(b"SUMMARY=on the channel"); notify("READY=1"); os._exit(3)"#
                ))
            #expect(ending.summary?.status == "late")
            #expect(ending.summary?.summary == "on the channel")
            #expect(ending.summary?.launch?.source == "notify")
            #expect(ending.summary?.exit?.code == 3)
        }

        @Test("MAINPID of a foreign process is rejected")
        func foreignMainProcess() throws {
            let ending = try supervise(
                unhurried(), python(#"notify("READY=1"); notify("MAINPID=1"); time.sleep(0.2); exit(5)"#))
            #expect(ending.exitCode == 5)
        }

        @Test("BARRIER=1 is answered: its descriptor is closed once everything before it is handled")
        func barrier() throws {
            let command = python(
                """
                notify("READY=1", "STATUS=before the barrier")
                say("passed" if barrier() else "held up")
                """)
            let ending = try supervise(unhurried(), command)
            #expect(ending.output == "passed\n")
            #expect(ending.summary?.status == "before the barrier")
        }

        @Test("Unknown keys and nonsense are ignored")
        func unknownKeys() throws {
            let command = python(
                #"""
                notify("X_VENDOR=1", "no assignment", "=", "", "READY=1", "MAINPID=x", "ERRNO=nope", b"STATUS=\xff\xfe")
                notify("WATCHDOG=maybe", "EXTEND_TIMEOUT_USEC=-1", "WATCHDOG_USEC=99999999999999999999999")
                notify(b"READY=1\0STATUS=hidden")
                notify(b"STATUS=" + b"x" * 5000)
                time.sleep(0.2)
                """#)
            let ending = try supervise(unhurried(["--update", "300ms"]), command)
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.launch?.source == "notify")
            #expect(ending.summary?.incidents.isEmpty == true)
            #expect(ending.summary?.status?.contains("hidden") != true)
        }

        // MARK: - systemd-notify

        private static let hasTool = isInstalled("systemd-notify")

        @Test("systemd-notify from a script: its process is short-lived, and its message counts", .enabled(if: hasTool))
        func systemdNotify() throws {
            let ending = try supervise(
                ["--readiness", "notify", "--launch", "10s"],
                shell("systemd-notify --ready --status='from a script'; sleep 0.3"))
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.launch?.source == "notify")
            #expect(ending.summary?.status == "from a script")
        }

        @Test(
            "systemd-notify --no-block has exited before its message is read, and the message counts",
            .enabled(if: hasTool))
        func systemdNotifyWithoutBarrier() throws {
            let ending = try supervise(
                ["--readiness", "notify", "--launch", "10s"],
                shell("systemd-notify --no-block --ready; systemd-notify --no-block STATUS=bye; sleep 0.3; exit 9"))
            #expect(ending.exitCode == 9)
            #expect(ending.summary?.launch?.source == "notify")
            #expect(ending.summary?.status == "bye")
        }
    }
}
