// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy

/// Root's daemon is not dumpable, so tracing it takes CAP_SYS_PTRACE.
private let mayTrace = !isRoot || hasAllRights

extension EndToEnd {
    /// A message that an app sends exactly once must survive a watchdogd that is killed between reading and saving it:
    /// strace kills watchdogd as it begins to write.
    @Suite(
        "A watchdogd killed before it saves",
        .enabled(if: access("/usr/bin/strace", X_OK) == 0 && mayTrace, "needs strace, and the right to trace watchdogd")
    )
    struct KilledBeforeSavingTests {
        /// Lets watchdogd begin this many writes, and then kills it.
        private func trap(_ succession: Succession, write count: Int) throws -> Program {
            let pid = succession.program.pid
            let strace = try Program([
                "/usr/bin/strace", "-qq", "-o", "/dev/null", "-p", "\(pid)", "-e", "trace=pwrite64", "-e",
                "inject=pwrite64:signal=SIGKILL:when=\(count)",
            ])
            try #require(eventually { succession.program.process.hasExited || ProcessStatus.read(pid)?.tracer != nil })
            return strace
        }

        /// Acts, and kills watchdogd when it begins this many writes, or afterwards if there are fewer.
        private func interrupt(_ succession: Succession, write count: Int, _ act: () throws -> Void) throws {
            let strace = try trap(succession, write: count)
            try act()
            _ = eventually(within: .milliseconds(500)) { succession.program.hasEnded }
            try succession.killDaemon()
            try strace.end()
        }

        private func awaitKill(_ succession: Succession, _ strace: Program) throws {
            try succession.awaitEnd()
            #expect(succession.program.status == .signaled(signal: SIGKILL, coreDumped: false))
            try strace.end()
        }

        @Test("does not leave a ping unanswered whose answer it has read", arguments: 1...4)
        func ping(write: Int) throws {
            let succession = try Succession([:])
            try succession.add(["app": succession.survivor("app", "Update=3s\n")])
            let pid = try succession.app("app").pid
            #expect(eventually { succession.log("app").contains { $0.what == "ping" } })
            try awaitKill(succession, trap(succession, write: write))
            try succession.succeed()
            let late = Instant.now() + .milliseconds(4_500)
            #expect(eventually { succession.log("app").contains { $0.what == "ping" && $0.at > late } })
            let app = try succession.app("app")
            #expect(app.pid == pid && app.restarts == 0 && app.state == .running)
            try succession.end()
        }

        @Test("does not lose an app's readiness", arguments: [true, false], 1...2)
        func readiness(byChannel: Bool, write: Int) throws {
            let succession = try Succession([:])
            let hold = succession.scratch["app.log.wait"]
            try succession.scratch.write("", to: "app.log.wait")
            let text =
                byChannel
                ? succession.survivor("app", "Launch=20s\n")
                : "[App]\nExecStart=/bin/sh -c 'while test -e \(hold); do sleep 0.02; done; systemd-notify --ready; "
                    + "exec sleep 1000'\n[Watchdog]\nReadiness=notify\nLaunch=20s\n"
            try succession.scratch.write(text, to: "apps/app.app")
            _ = try succession.client.reload()
            let pid = try succession.wait(for: "app") { $0.state == .launching && $0.pid != nil }.pid
            let strace = try trap(succession, write: write)
            unlink(hold)
            try awaitKill(succession, strace)
            try succession.succeed()
            let app = try succession.wait(for: "app") { $0.state == .running }
            #expect(app.pid == pid && app.restarts == 0)
            try succession.end()
        }

        @Test("restarts an app exactly once if a restart was requested", arguments: 1...8)
        func restart(write: Int) throws {
            let succession = try Succession([:])
            try succession.add(["app": succession.survivor("app")])
            let before = try succession.app("app").pid
            let strace = try trap(succession, write: write)
            let isAccepted = (try? succession.client.restart(AppRequest("app"))) != nil
            try awaitKill(succession, strace)
            try succession.succeed()
            try succession.wait(for: "app") { $0.state == .running && ($0.pid != before || !isAccepted) }
            // Without an answer to the command, the app may have been sent SIGTERM, and may log it at any time.
            var words: [String] = []
            let isSettled = try eventually {
                let app = try succession.app("app")
                words = succession.log("app").map(\.what)
                let (starts, ends) = (words.count { $0 == "started" }, words.count { $0 == "terminated" })
                return app.state == .running && succession.processes == [app.pid] && starts == ends + 1
            }
            #expect(isSettled && words.count { $0 == "started" } <= 2, "\(words)")
            try succession.end()
        }

        @Test(
            "leaves an app that was being suspended running, or known to be suspended and resumable", arguments: 1...4)
        func suspension(write: Int) throws {
            let succession = try Succession([:])
            try succession.add(["app": succession.survivor("app", "Update=3s\n")])
            let pid = try succession.app("app").pid
            try interrupt(succession, write: write) { _ = try? succession.client.suspend(AppRequest("app")) }
            try succession.succeed()
            _ = try? succession.client.resume(AppRequest("app"))
            let late = Instant.now()
            #expect(eventually { succession.log("app").contains { $0.what == "ping" && $0.at > late } })
            let app = try succession.app("app")
            #expect(app.pid == pid && app.restarts == 0 && app.state == .running)
            try succession.end()
        }

        @Test("does not forget a launch once a command before it has run", arguments: 1...4)
        func preparation(write: Int) throws {
            let succession = try Succession([:])
            let mark = succession.scratch["prepared"]
            let text = succession.survivor("app")
                .replacing("[App]\n", with: "[App]\nEnabled=no\nExecStartPre=/bin/touch \(mark)\n")
            try succession.scratch.write(text, to: "apps/app.app")
            _ = try succession.client.reload()
            try interrupt(succession, write: write) { _ = try? succession.client.launch(AppRequest("app")) }
            let isPrepared = access(mark, F_OK) == 0
            try succession.succeed()
            // An app that is already saved is launched too.
            try succession.wait(for: "app") { $0.state == .running || (!isPrepared && $0.state == .stopped) }
            try succession.end()
        }

        @Test(
            "counts each launch of an app that exits before its start is saved",
            .enabled(if: Leftovers.canUseCgroups, "needs cgroups"), arguments: 1...10)
        func shortLife(write: Int) throws {
            let succession = try Succession([:])
            let log = succession.scratch["log"]
            try succession.scratch.write(
                """
                [App]
                Enabled=no
                ExecStart=/bin/sh -c 'echo >> \(log)'
                [Watchdog]
                Readiness=none
                [Restart]
                Policy=always
                Delay=1h
                MaxDelay=1h
                """, to: "apps/app.app")
            _ = try succession.client.reload()
            var launches: Int { succession.scratch.read("log")?.count ?? 0 }
            try interrupt(succession, write: write) { _ = try? succession.client.launch(AppRequest("app")) }
            #expect(eventually { succession.processes.isEmpty })
            try succession.succeed()
            // The first restart is immediate.
            let app = try succession.wait(for: "app") { [.waiting, .stopped].contains($0.state) }
            #expect(launches == (app.state == .waiting ? 2 : 0))
            #expect(app.restarts == max(0, launches - 1))
            try succession.end()
        }

        @Test(
            "does not relaunch an app that has finished its work, and ends its leftovers",
            .enabled(if: Leftovers.canUseCgroups, "needs cgroups"), arguments: 1...10)
        func workDone(write: Int) throws {
            let succession = try Succession([:])
            let log = succession.scratch["log"]
            try succession.scratch.write(
                """
                [App]
                Enabled=no
                ExecStart=/bin/sh -c 'echo >> \(log); sleep 1000 & exit 0'
                [Watchdog]
                Readiness=none
                [Restart]
                Policy=never
                """, to: "apps/app.app")
            _ = try succession.client.reload()
            try interrupt(succession, write: write) { _ = try? succession.client.launch(AppRequest("app")) }
            try succession.succeed()
            try succession.wait(for: "app") { $0.state == .stopped }
            #expect(eventually { succession.processes.isEmpty })
            #expect((succession.scratch.read("log")?.count ?? 0) <= 1)
            try succession.end()
        }

        @Test("reports a crash that was seen exactly once", arguments: 1...10)
        func crash(write: Int) throws {
            let succession = try Succession([:])
            try succession.add(["app": succession.survivor("app", "[Restart]\nPolicy=never\n")])
            try interrupt(succession, write: write) {
                try succession.scratch.write("", to: "app.log.exit")
                #expect(eventually { succession.log("app").contains { $0.what == "exits" } })
            }
            let isSeen = succession.said.contains("app exited with code 7")
            try succession.succeed()
            try succession.wait(for: "app") { $0.state == .stopped }
            var reports: [String] { names(in: succession.scratch["reports"]).filter { $0.hasSuffix(".ips") } }
            #expect(!isSeen || eventually { !reports.isEmpty })
            try succession.end()
            #expect(reports.count <= 1)
        }

        @Test("leaves no app down at the next start if it was killed during a shutdown", arguments: 1...8)
        func stop(write: Int) throws {
            let succession = try Succession([:])
            let names = ["a", "b"]
            try succession.add(Dictionary(uniqueKeysWithValues: names.map { ($0, succession.survivor($0)) }))
            let strace = try trap(succession, write: write)
            try succession.program.send(SIGTERM)
            try succession.awaitEnd()
            try strace.end()
            try succession.succeed()
            for name in names { try succession.wait(for: name) { $0.state == .running } }
            for name in names {
                // A process that continues may still receive its SIGTERM.
                #expect(
                    eventually {
                        let log = succession.log(name).map(\.what)
                        return log.count { $0 == "started" } == log.count { $0 == "terminated" } + 1
                    })
            }
            #expect(eventually { succession.processes.count == names.count })
            try succession.end()
        }
    }
}
