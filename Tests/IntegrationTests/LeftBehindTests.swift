// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    @Suite("Leftovers of the main process")
    struct LeftBehindTests {
        /// A program that leaves a process behind: `leftover` is that process's code before it waits.
        private func leaving(_ leftover: String, then end: String = "os._exit(3)") -> [String] {
            python(
                """
                def write(*_):
                    time.sleep(0.3)
                    open("ended", "w").write("asked")
                    os._exit(0)
                ours, theirs = os.pipe()
                if os.fork() == 0:
                    os.setsid()
                    \(leftover)
                    os.write(theirs, b"1")
                    hang()
                os.read(ours, 1)
                \(end)
                """)
        }

        @Test("A leftover is asked to exit, and the launch ends once it has")
        func asked() throws {
            let run = try Supervision(unhurried(), leaving("signal.signal(signal.SIGTERM, write)"))
            let ending = try run.end()
            #expect(contents(of: run.scratch["ended"]).map { String(decoding: $0, as: UTF8.self) } == "asked")
            #expect(ending.exitCode == 3)
            #expect(ending.summary?.termination == "exited")
            #expect(ending.summary?.exit?.code == 3)
        }

        /// A program that runs another one, signals it once `path` exists (unless that is ""), and prints the orphans
        /// that its reaper inherits.
        private func reaper(signal: String = "", when path: String = "") -> [String] {
            // prctl(2): PR_SET_CHILD_SUBREAPER is 36.
            python(
                """
                import ctypes, subprocess
                assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0
                path, number = sys.argv[1:3]
                process = subprocess.Popen(sys.argv[3:])
                while path and not os.path.exists(path): time.sleep(0.01)
                if path: process.send_signal(getattr(signal, number))
                print(process.wait())
                try:
                    left = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                    print(left, open("/proc/%d/stat" % left.si_pid).read() if left else "running")
                except ChildProcessError:
                    print("none")
                """, path, signal)
        }

        @Test("watchdogd leaves none of its own processes to a subreaper")
        func ownProcesses() throws {
            let scratch = try Scratch()
            for (options, command, code) in [
                ([], ["true"], 0), ([], ["sh", "-c", "kill -SEGV $$"], 139),
                // A process of another launcher writes the report of a hang.
                (["--readiness", "notify", "--launch", "200ms"], ["sleep", "1000"], 137),
            ] as [([String], [String], Int)] {
                let run = [product("watchdogd"), "run", "--reports", scratch.path] + options + ["--"]
                let answer = try Program(reaper() + run + command)
                #expect(try answer.end().code == 0)
                #expect(answer.text(.output) == "\(code)\nnone\n", "\(answer.text(.errors))")
            }
            let idle = try Program(["sleep", "1000"])
            defer { withExtendedLifetime((scratch, idle)) {} }
            let probing = ["--probe", "tcp:127.0.0.1:1", "--reports", scratch.path]
            for command in [["sample"], ["observe"] + probing] {
                let other = try Program(
                    reaper() + [product("watchdogd")] + command + ["--for", "50ms", "\(idle.pid)"])
                #expect(try other.end().code == 0)
                #expect(other.text(.output).hasSuffix("0\nnone\n"), "\(command) \(other.text(.errors))")
            }
        }

        @Test(
            "A recording, a measurement or a trial leaves no process behind, however it ends",
            arguments: [
                (["record", "--", "true"], 0), (["record", "--rung", "A", "--", "true"], nil),
                (["record", "--rung", "B", "--", "true"], nil), (["record", "--rung", "C", "--", "true"], nil),
                (["record", "--rung", "D", "--", "true"], 0), (["record", "--constructors", "--", "true"], nil),
                (["record", "--until", "ready", "--time-limit", "300ms", "--", "sleep", "1000"], 75),
                (["record", "--", "sh", "-c", "setsid sleep 1000 & sleep 1000 & kill -STOP $!"], 0),
                // The first cannot be executed; the second is rejected when its process already exists.
                (["record", "--", "./broken"], 66), (["record", "--rung", "D", "--", "./broken"], 66),
                (["record", "--constructors", "--", "./marked"], 77),
                (["measure", "--runs", "1", "--", "true"], 0), (["init", "--within", "1s", "--", "sleep", "1000"], 0),
                (["init", "--within", "1s", "--", "sh", "-c", "sleep 1000 & kill -STOP $!"], 70),
                (["conformance", "--launch", "200ms", "--", "true"], 1),
            ] as [([String], Int32?)])
        func recording(command: [String], code: Int32?) throws {
            let scratch = try Scratch()
            try scratch.write("#!/nonexistent/interpreter\n", to: "broken", mode: 0o755)
            try scratch.write("#!/bin/sh\n", to: "marked", mode: 0o4755)
            let answer = try Program(reaper() + [product("watchdogd")] + command, directory: scratch.path)
            #expect(try answer.end().code == 0)
            // A rung may not be possible here: 77.
            let codes = code.map { ["\($0)"] } ?? ["0", "77"]
            let last = answer.text(.output).split(separator: "\n").suffix(2).map(String.init)
            #expect(last.last == "none" && codes.contains(last.first ?? ""), "\(last) \(answer.text(.errors))")
        }

        @Test(
            "The daemon leaves no process behind, whether it terminates its apps or leaves them running",
            arguments: ["SIGTERM", "SIGUSR1"])
        func daemon(signal: String) throws {
            let scratch = try Scratch()
            _ = try scratch.makeDirectory("apps")
            var environment = testEnvironment()
            environment["XDG_RUNTIME_DIR"] = try scratch.makeDirectory("runtime", mode: 0o700)
            let daemon = try Program(
                reaper(signal: signal, when: scratch["control"]) + [
                    product("watchdogd"), "serve", "--user", "--config", scratch["apps"], "--control",
                    scratch["control"], "--reports", scratch["reports"], "--history", scratch["history.db"],
                ], environment: environment)
            #expect(try daemon.end().code == 0)
            #expect(daemon.text(.output) == "0\nnone\n", "\(daemon.text(.errors))")
        }

        @Test("A leftover is killed after the terminate allowance")
        func killed() throws {
            let start = Instant.now()
            let ending = try supervise(
                ["--terminate", "700ms"], leaving("signal.signal(signal.SIGTERM, signal.SIG_IGN)"))
            #expect(Instant.now() - start >= .milliseconds(700))
            #expect(ending.exitCode == 3)
            #expect(ending.summary?.termination == "exited")
            #expect(ending.summary?.incidents.isEmpty == true)
            #expect(ending.reports.isEmpty)
        }

        @Test("SIGTERM kills a leftover immediately, and the exit code stays that of the main process")
        func insisted() throws {
            let run = try Supervision(
                unhurried(["--verbose"]), leaving("signal.signal(signal.SIGTERM, signal.SIG_IGN)"))
            try run.line("exited with code 3", on: .errors)
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 3)
            #expect(ending.summary?.termination == "exited")
        }

        @Test("A stopped leftover is continued")
        func stopped() throws {
            let ending = try supervise(
                ["--terminate", "1h"],
                leaving(
                    "signal.signal(signal.SIGTERM, write)",
                    then: """
                        pid = next(int(p) for p in open(f"/proc/self/task/{os.getpid()}/children").read().split())
                        os.kill(pid, signal.SIGSTOP)
                        os._exit(3)
                        """))
            #expect(ending.exitCode == 3)
            #expect(contents(of: ending.scratch["ended"]) != nil)
        }

        @Test("A watchdog kill does not ask a leftover to exit")
        func hang() throws {
            let ending = try supervise(
                ["--update", "400ms", "--terminate", "1h"],
                leaving(
                    "signal.signal(signal.SIGTERM, write)",
                    then: #"notify("READY=1", "WATCHDOG=1"); hang()"#))
            #expect(ending.exitCode == 137)
            #expect(ending.reports.count == 1)
            #expect(contents(of: ending.scratch["ended"]) == nil)
        }
    }
}
