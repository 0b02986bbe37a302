// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("The wait of the main thread")
    struct WaitTests {
        private func hang(_ how: String) throws -> Report {
            let ending = try supervise(
                ["--update", "700ms", "--ping", "100ms"], [product("HangMain"), "--how", how, "--after", "0.2"])
            #expect(ending.exitCode == 137)
            return try #require(ending.reports.first)
        }

        private func verdict(_ report: Report) -> String { report.body.linux?.verdict.line ?? "" }

        private func information(_ report: Report) -> [String] {
            report.body.applicationSpecificInformation?["watchdogd"] ?? []
        }

        @Test("a deadlock is named with both threads, and their place in the report")
        func deadlock() throws {
            let report = try hang("deadlock")
            let index = try #require(report.body.threads.firstIndex { $0.name == "indexer" })
            let id = report.body.threads[index].id
            #expect(
                verdict(report).contains(
                    "in futex (mutex held by thread \(id ?? 0) \"indexer\", which waits for a mutex held by this thread: deadlock)"
                ), "\(verdict(report))")
            let waits = report.body.linux?.waits ?? []
            #expect(waits.map(\.isDeadlocked) == [true, true])
            #expect(waits.allSatisfy { !$0.sources.isEmpty })
            #expect(
                information(report).contains {
                    $0.hasPrefix("Waits: ") && $0.hasSuffix("\"indexer\" (Thread \(index))")
                })
            #expect(
                information(report).contains { $0.hasPrefix("Waits: deadlock: thread \(waits.first?.thread ?? 0) ") })
        }

        @Test("a semaphore names nobody")
        func semaphore() throws {
            let report = try hang("semaphore")
            #expect(verdict(report).contains("in futex (word at 0x"))
            #expect(report.body.linux?.waits?.first?.holder == nil)
            #expect(!information(report).contains { $0.contains("deadlock") })
        }

        @Test("a silent server is named with both addresses")
        func network() throws {
            let line = verdict(try hang("network"))
            let pattern =
                #/in recvfrom \(fd \d+: TCP 127\.0\.0\.1:\d+ → 127\.0\.0\.1:\d+, ESTABLISHED, nothing to read\) · /#
            #expect(line.contains(pattern), "\(line)")
        }

        @Test("a name server that does not answer is named, though the call is poll")
        func nameLookup() throws {
            let line = verdict(try hang("dns"))
            #expect(
                line.contains(#/in poll \(fd \d+: UDP 127\.0\.0\.1:\d+ → 127\.0\.0\.1:\d+, nothing to read\)/#),
                "\(line)")
        }

        @Test("a locked file is named with the process that holds the lock")
        func fileLock() throws {
            let report = try hang("filelock")
            #expect(
                verdict(report).contains(#/in flock \(fd \d+: \S+HangMain-catalog-\w+, locked by pid \d+ "/#),
                "\(verdict(report))")
            let holder = report.body.linux?.waits?.first?.holder
            #expect(holder?.relation == .locks)
            #expect(holder?.process != report.body.pid)
        }

        @Test("a file locked by a foreign program is named with that program")
        func foreignFileLock() throws {
            let scratch = try Scratch()
            let lock = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
            let other = try Program(
                ["/usr/bin/python3", "-c", lock + "print('locked', flush=True); time.sleep(600)", scratch["store"]])
            try other.line("locked")
            let ending = try supervise(
                ["--readiness", "notify", "--launch", "1s"], ["/usr/bin/python3", "-c", lock, scratch["store"]])
            let report = try #require(ending.reports.first)
            #expect(verdict(report).contains("in flock (fd "), "\(verdict(report))")
            #expect(verdict(report).contains(": \(scratch["store"])"), "\(verdict(report))")
            // The kernel's list of locks may take longer than a capture waits.
            let holder = report.body.linux?.waits?.first?.holder
            #expect(holder == nil || holder?.process == Int(other.pid), "\(verdict(report))")
        }

        @Test("an awaited child is named")
        func child() throws {
            let ending = try supervise(
                ["--launch", "3s"],
                python(#"import subprocess; notify("STATUS=waiting"); subprocess.run(["/bin/sleep", "60"])"#))
            let report = try #require(ending.reports.first)
            #expect(
                verdict(report).contains(#/in (wait4|waitid) \(child \d+ "sleep", sleeping\b/#), "\(verdict(report))")
        }
    }
}
