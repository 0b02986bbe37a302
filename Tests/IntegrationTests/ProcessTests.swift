// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogControl
import WatchdogLinux
import WatchdogReport

extension EndToEnd {
    @Suite("Processes and signals of Linux")
    struct ProcessTests {
        // MARK: - Its own

        @Test("If the process that starts examiners and copiers is killed, it is replaced, and reports are complete")
        func examinerSource() throws {
            let service = try Service([
                "hang": """
                [App]
                ExecStart=\(quoted(product("HangMain"))) --how semaphore --after 0
                [Watchdog]
                Ping=50ms
                Update=300ms
                [Restart]
                Delay=1ms
                MaxDelay=1ms
                Limit=infinity
                """
            ])
            func source() -> Int32? {
                Procfs.children(of: service.program.pid).first { ProcessStat.read($0)?.name == "watchdogd" }
            }
            for _ in 0..<2 {
                let killed = try #require(source())
                #expect(kill(killed, SIGKILL) == 0)
                #expect(eventually { source().map { $0 != killed } ?? false })
            }
            let said = service.program
            try said.line("not say what is waited for: the process that starts examiners has ended", on: .errors)
            try said.line("reports say again what is waited for", on: .errors)
            let before = try service.app("hang").restarts
            let isWhole = try eventually {
                let app = try service.app("hang")
                guard app.restarts > before, let path = app.lastIncident?.report, let bytes = contents(of: path) else {
                    return false
                }
                let body = try ReportCoding.decode(bytes).body
                return body.linux?.waits?.isEmpty == false && body.threads.first?.frames.isEmpty == false
            }
            #expect(isWhole, "\(said.text(.errors))")
            #expect(try service.end() == 0)
        }

        // MARK: - Orphans

        private static let orphans = python(
            """
            for _ in range(20):
                if os.fork() == 0:
                    if os.fork() > 0: os._exit(0)
                    time.sleep(0.1)
                    os._exit(7)
                os.wait()
            say(os.getppid())
            # A child of watchdogd that has just ended is none that stays.
            time.sleep(0.5)
            for _ in range(100):
                states = []
                for name in filter(str.isdigit, os.listdir("/proc")):
                    try: fields = open(f"/proc/{name}/stat").read().rpartition(")")[2].split()
                    except (FileNotFoundError, ProcessLookupError): continue
                    if int(fields[1]) == os.getppid(): states.append(fields[0])
                if "Z" not in states: break
                time.sleep(0.1)
            say("zombies:", states.count("Z"))
            """)

        @Test("Orphans of the program are reaped")
        func orphans() throws {
            let run = try Supervision([], Self.orphans)
            #expect(try run.line() == "\(run.program.pid)")
            try run.line("zombies: 0")
            #expect(eventually { Leftovers.zombies(of: run.program.pid).isEmpty })
            #expect(try run.end().exitCode == 0)
        }

        @Test("As process 1, it reaps too", .enabled(if: hasAllRights, "a PID namespace needs root"))
        func processOne() throws {
            let run = try Supervision(
                [], Self.orphans, wrapper: ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"])
            #expect(try run.line() == "1")
            try run.line("zombies: 0")
            #expect(try run.end().exitCode == 0)
        }

        @Test(
            "As process 1, it kills, reports and exits as usual",
            .enabled(if: hasAllRights, "a PID namespace needs root"))
        func processOneKills() throws {
            let ending = try Supervision(
                ["--update", "500ms"], [product("HangMain"), "--how", "semaphore", "--after", "0.1"],
                wrapper: ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
            ).end()
            #expect(ending.exitCode == 137)
            #expect(ending.reports.count == 1)
        }

        @Test("As process 1, it handles SIGTERM", .enabled(if: hasAllRights, "a PID namespace needs root"))
        func processOneTerminates() throws {
            let run = try Supervision(
                [], [product("HealthyApp")],
                wrapper: ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"])
            try run.line("HealthyApp: ready")
            // unshare waits for its child, which is watchdogd.
            let watchdogd = try #require(
                String(
                    decoding: contents(of: "/proc/\(run.program.pid)/task/\(run.program.pid)/children") ?? [],
                    as: UTF8.self
                )
                .split(separator: " ").first.flatMap { Int32($0) })
            kill(watchdogd, SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.termination == "terminated")
        }

        // MARK: - Inheritance

        @Test("The program leads its own session and has default limits and priority")
        func inheritance() throws {
            let ending = try supervise(
                unhurried(),
                python(
                    """
                    import resource
                    say(os.getsid(0) == os.getpid(), os.sched_getscheduler(0), os.nice(0))
                    say(resource.getrlimit(resource.RLIMIT_RTTIME)[0] == resource.RLIM_INFINITY)
                    """))
            // The tests' own values, which may not be the defaults.
            let niceness = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
            #expect(ending.output == "True \(sched_getscheduler(0)) \(niceness)\nTrue\n")
        }

        @Test("The variables of an outer supervisor are not inherited")
        func foreignVariables() throws {
            let ending = try supervise(
                unhurried(),
                python(
                    """
                    say(os.environ["NOTIFY_SOCKET"] != "/run/systemd/notify", os.environ["WATCHDOG_PID"] == str(os.getpid()))
                    say("LISTEN_FDS" in os.environ, os.environ["SWIFT_BACKTRACE"])
                    """),
                environment: ["NOTIFY_SOCKET": "/run/systemd/notify", "WATCHDOG_PID": "1", "LISTEN_FDS": "3"])
            #expect(ending.output == "True True\nFalse enable=no\n")
        }

        @Test("The socket lies in watchdogd's own directory, in /run for root, and is removed afterwards")
        func runtimeDirectory() throws {
            let run = try Supervision(unhurried(), python(#"say(os.environ["NOTIFY_SOCKET"])"#))
            let socket = try run.line()
            let directory = String(socket[..<(try #require(socket.lastIndex(of: "/")))])
            // A user's own folders are often closed to others, so one that everybody can enter comes first.
            let places = isRoot ? ["/run/watchdogd/"] : [run.scratch["runtime/watchdogd/"], "/tmp/watchdogd-"]
            #expect(places.contains { directory.hasPrefix("\($0)\(run.program.pid)-") }, "\(directory)")
            #expect(try run.end().exitCode == 0)
            #expect(access(directory, F_OK) != 0)
        }

        // MARK: - SIGABRT and Swift

        @Test(
            "A dynamic Swift program swallows SIGABRT by default; under watchdogd the first one kills it",
            .enabled(if: isInstalled("swiftc"), "swiftc is not in PATH"))
        func swiftAndAbort() throws {
            let scratch = try Scratch()
            let source = try scratch.write(
                """
                import Glibc
                print("started")
                fflush(nil)
                while true {
                    usleep(50_000)
                    print("alive")
                    fflush(nil)
                }
                """, to: "main.swift")
            let compiler = try Program(
                ["swiftc", "-Onone", "-module-cache-path", scratch["cache"], "-o", scratch["ticker"], source],
                environment: testEnvironment(), directory: scratch.path)
            try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")

            let plain = try Program([scratch["ticker"]])
            try plain.line("started")
            try plain.send(SIGABRT)
            // The runtime's handler catches it, prints a backtrace and returns. Some of these lines are older.
            for _ in 1...10 { try plain.line("alive") }
            #expect(plain.status == nil, "the signal is gone, the program is not")
            try plain.send(SIGABRT)
            #expect(try plain.end().code == nil, "a second one ends it")

            let run = try Supervision([], [scratch["ticker"]], scratch: scratch)
            try run.line("started")
            let pid = try #require(run.processes.first)
            kill(pid, SIGABRT)
            let ending = try run.end()
            #expect(ending.exitCode == 134)
            #expect(ending.summary?.exit?.signal == "SIGABRT")
        }
    }
}
