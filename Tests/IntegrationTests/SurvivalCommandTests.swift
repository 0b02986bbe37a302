// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy

extension EndToEnd {
    @Suite("Commands of apps keep their deadlines when watchdogd is replaced")
    struct SurvivalCommandTests {
        private let binaries: Scratch

        init() throws { binaries = try Scratch() }

        /// A watchdogd, if requested on a machine without cgroups.
        private func binary(withCgroups hasCgroups: Bool) throws -> String {
            guard !hasCgroups, Leftovers.canUseCgroups else { return product("watchdogd") }
            return try binaries.write(
                """
                #!/bin/sh
                exec unshare -m sh -c 'umount -l $(findmnt -n -o TARGET -t cgroup2) && exec "$@"' sh \
                \(shellWord(product("watchdogd"))) "$@"
                """, to: "watchdogd", mode: 0o755)
        }

        private func begin(_ apps: [String: String], _ binary: String) throws -> Succession {
            let succession = try Succession([:], binary: binary)
            for (name, text) in apps { try succession.scratch.write(text, to: "apps/\(name).app") }
            _ = try succession.client.reload()
            return succession
        }

        /// The processes with this argument.
        private func sleepers(_ argument: String, _ succession: Succession) -> [Int32] {
            succession.processes.filter { pid in
                ProcessFacts.arguments(pid).dropFirst().contains { $0.description == argument }
            }
        }

        @Test(
            "a reload command that keeps running is killed at its deadline with its children",
            arguments: Leftovers.canUseCgroups ? [true, false] : [false])
        func stuckReload(hasCgroups: Bool) throws {
            let binary = try binary(withCgroups: hasCgroups)
            let app = """
                [App]
                ExecStart=/bin/sleep 1000
                ExecReload=/bin/sh -c '\(hasCgroups ? "setsid" : "") sleep 1234 & exec sleep 1235'
                [Watchdog]
                Readiness=none
                Reload=5s
                """
            let succession = try begin(["app": app], binary)
            let pid = try succession.wait(for: "app") { $0.state == .running }.pid
            let begun = Instant.now()
            _ = try succession.client.reload(AppRequest("app"))
            #expect(
                eventually { !sleepers("1234", succession).isEmpty && !sleepers("1235", succession).isEmpty })
            let command = sleepers("1235", succession)
            try succession.killDaemon()
            try succession.succeed(binary)
            #expect(sleepers("1235", succession) == command)
            #expect(throws: (any Error).self) { try succession.client.reload(AppRequest("app")) }
            try succession.program.line("/bin/sh did not end within 5 s, and was killed", on: .errors)
            #expect(Instant.now() - begun >= .seconds(5))
            #expect(eventually { succession.processes == [pid].compactMap(\.self) })
            #expect(try succession.app("app").pid == pid)
            try succession.end()
        }

        @Test("a reload continues with its next command", arguments: [SIGUSR2, SIGUSR1, SIGKILL])
        func reload(signal: Int32) throws {
            let succession = try Succession([:])
            let (go, log) = (succession.scratch["go"], succession.scratch["log"])
            try succession.add([
                "app": """
                [App]
                ExecStart=/bin/sleep 1000
                ExecReload=/bin/sh -c 'echo 1 >> \(log); until test -e \(go); do sleep 0.02; done'
                ExecReload=/bin/sh -c 'echo 2 >> \(log)'
                [Watchdog]
                Readiness=none
                """
            ])
            _ = try succession.client.reload(AppRequest("app"))
            #expect(eventually { succession.scratch.read("log") == "1\n" })
            if signal == SIGUSR2 {
                try succession.reexecute()
            } else {
                try succession.killDaemon(signal)
                try succession.succeed()
            }
            try succession.scratch.write("", to: "go")
            // Older kernels do not report the exit status of a process that is not a child.
            let isTold = signal == SIGUSR2 || kernelTellsExitStatus
            try succession.program.line(
                isTold ? "app reloaded within " : "/bin/sh ended; exit status unknown", on: .errors)
            #expect(succession.scratch.read("log") == (isTold ? "1\n2\n" : "1\n"))
            try succession.end()
        }

        @Test("a reload whose commands have changed is aborted, and that is reported")
        func otherReload() throws {
            let succession = try Succession([:])
            let app = "[App]\nExecStart=/bin/sleep 1000\nExecReload=/bin/sleep 1235\n[Watchdog]\nReadiness=none\n"
            try succession.add(["app": app])
            let pid = try succession.app("app").pid
            _ = try succession.client.reload(AppRequest("app"))
            #expect(eventually { !sleepers("1235", succession).isEmpty })
            try succession.killDaemon()
            try succession.scratch.write(app.replacing("1235", with: "0.01"), to: "apps/app.app")
            try succession.succeed()
            try succession.program.line("could not be reloaded: it was cancelled", on: .errors)
            #expect(eventually { succession.processes == [pid].compactMap(\.self) })
            #expect(try succession.client.reload(AppRequest("app")).duration == nil)
            try succession.end()
        }

        @Test("a reload ends if watchdogd did not see its command exit")
        func lostReload() throws {
            let succession = try Succession([:])
            try succession.add([
                "app": "[App]\nExecStart=/bin/sleep 1000\nExecReload=/bin/sleep 1235\n[Watchdog]\nReadiness=none\n"
            ])
            _ = try succession.client.reload(AppRequest("app"))
            #expect(eventually { !sleepers("1235", succession).isEmpty })
            let command = try #require(sleepers("1235", succession).first)
            try succession.killDaemon()
            kill(command, SIGKILL)
            #expect(eventually { access("/proc/\(command)", F_OK) != 0 })
            try succession.succeed()
            try succession.program.line(
                "could not be reloaded: ExecReload: /bin/sleep ended; exit status unknown", on: .errors)
            #expect(try succession.client.reload(AppRequest("app")).duration == nil)
            try succession.end()
        }

        @Test(
            "preparations and probes are killed with their children, and restarted",
            arguments: Leftovers.canUseCgroups ? [true, false] : [false])
        func begunAnew(hasCgroups: Bool) throws {
            let binary = try binary(withCgroups: hasCgroups)
            let separately = hasCgroups ? "setsid" : ""
            func app(_ rest: String) -> String { "[App]\nExecStart=/bin/sleep 1000\n\(rest)" }
            let succession = try begin(
                [
                    "prepared": app("ExecStartPre=/bin/sh -c '\(separately) sleep 1236 & sleep 1000'"),
                    "ready": app("[Watchdog]\nReadiness=exec:\(separately) sleep 1237 & sleep 1000"),
                    "alive": app(
                        "[Watchdog]\nReadiness=none\nUpdate=1min\nProbe=exec:\(separately) sleep 1238 & sleep 1000"),
                ], binary)
            let arguments = ["1236", "1237", "1238"]
            func processes() -> [[Int32]] { arguments.map { sleepers($0, succession) } }
            #expect(eventually { processes().allSatisfy { $0.count == 1 } })
            let before = processes()
            try succession.killDaemon()
            #expect(processes() == before)
            try succession.succeed(binary)
            let isAnew = eventually {
                zip(processes(), before).allSatisfy { $0.count == 1 && $0 != $1 }
            }
            #expect(isAnew, "\(before) \(processes())")
            try succession.end()
        }
    }
}
