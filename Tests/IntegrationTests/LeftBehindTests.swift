// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    @Suite("What the main process leaves behind")
    struct LeftBehindTests {
        /// A program that leaves a process behind: `leftover` is what that one does, before it waits.
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

        @Test("It is asked to end, and the launch ends as soon as it has")
        func asked() throws {
            let run = try Supervision(["--terminate", "60s"], leaving("signal.signal(signal.SIGTERM, write)"))
            let ending = try run.end()
            #expect(contents(of: run.scratch["ended"]).map { String(decoding: $0, as: UTF8.self) } == "asked")
            #expect(ending.exitCode == 3)
            #expect(ending.summary?.termination == "exited")
            #expect(ending.summary?.exit?.code == 3)
        }

        @Test("It is killed after the terminate allowance")
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

        @Test("SIGTERM kills it at once, and the exit code stays that of the main process")
        func insisted() throws {
            let run = try Supervision(
                ["--terminate", "1h", "--verbose"], leaving("signal.signal(signal.SIGTERM, signal.SIG_IGN)"))
            try run.line("exited with code 3", on: .errors)
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 3)
            #expect(ending.summary?.termination == "exited")
        }

        @Test("It is continued if it was stopped")
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

        @Test("A watchdog kill does not ask it")
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
