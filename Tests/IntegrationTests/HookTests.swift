// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl

extension EndToEnd {
    @Suite("Incident hooks")
    struct HookTests {
        private let scratch: Scratch

        init() throws { scratch = try Scratch() }

        private func run(_ hook: String, _ command: String...) throws -> (code: Int32?, errors: String) {
            let program = try Program(
                [product("watchdogd"), "run", "--reports", "reports", "--update", "1s", "--on-incident", hook, "--"]
                    + command, directory: scratch.path)
            let code = try program.end().code
            return (code, program.text(.errors))
        }

        private func lines(_ name: String) -> [String] {
            (scratch.read(name) ?? "").split(separator: "\n").map(String.init)
        }

        /// Whether a process has this word in its command line.
        private func runs(_ word: String) -> Bool {
            names(in: "/proc").contains { name in
                guard Int(name) != nil, let line = contents(of: "/proc/\(name)/cmdline") else { return false }
                return line.split(separator: 0).contains { String(decoding: $0, as: UTF8.self) == word }
            }
        }

        @Test("After a hang, the command receives the report and its verdict, before the run ends")
        func hang() throws {
            let answer = try run(
                "env | grep ^WATCHDOGD_ > told; test -f \"$WATCHDOGD_REPORT\" && echo there > report",
                product("HangMain"), "--how", "semaphore")
            #expect(answer.code == 137, "\(answer.errors)")
            #expect(lines("report") == ["there"])
            let told = lines("told")
            #expect(told.contains("WATCHDOGD_APP=HangMain"))
            #expect(told.contains("WATCHDOGD_EVENT=scene-update"))
            #expect(told.contains("WATCHDOGD_CODE=0x8badf00d"))
            #expect(told.contains { $0.hasPrefix("WATCHDOGD_VERDICT=Main thread ") })
            #expect(told.contains { $0.wholeMatch(of: #/WATCHDOGD_SIGNATURE=[0-9a-f]{8}/#) != nil })
            #expect(told.contains { $0.wholeMatch(of: #/WATCHDOGD_INCIDENT=[0-9A-F-]{36}/#) != nil })
            #expect(told.contains { $0.hasPrefix("WATCHDOGD_FAULT=") && $0 != "WATCHDOGD_FAULT=" })
        }

        @Test("After a crash, the command receives the signal in its environment; its own failure is one line")
        func crash() throws {
            let answer = try run(
                "echo $WATCHDOGD_EVENT $WATCHDOGD_CODE > told; exit 3", "/bin/sh", "-c", "kill -SEGV $$")
            #expect(lines("told") == ["crash SIGSEGV"])
            #expect(answer.errors.contains("watchdogd: sh: OnIncident= (run: --on-incident) failed: exit code 3\n"))
        }

        @Test(
            "On a full disk, the command receives everything but a report, with one line for that and one for its own failure",
            .enabled(if: hasAllRights, "mounts a small disk"))
        func fullDisk() throws {
            let disk = try scratch.makeDirectory("reports")
            let mount = try Program(["mount", "-t", "tmpfs", "-o", "size=4k,mode=0755", "watchdogd-test", disk])
            try #require(try mount.end() == .exited(code: 0), "\(mount.text(.errors))")
            defer { umount2(disk, Int32(MNT_DETACH)) }
            let answer = try run(
                "env | grep ^WATCHDOGD_ > told; head -c 65536 /dev/zero > reports/own", product("HangMain"), "--how",
                "semaphore")
            #expect(answer.code == 137, "\(answer.errors)")
            let told = lines("told")
            #expect(told.contains("WATCHDOGD_REPORT="))
            #expect(told.contains { $0.hasPrefix("WATCHDOGD_VERDICT=Main thread ") })
            #expect(told.contains { $0.wholeMatch(of: #/WATCHDOGD_INCIDENT=[0-9A-F-]{36}/#) != nil })
            #expect(names(in: disk) == ["own"], "nothing half-written")
            let errors = answer.errors.split(separator: "\n")
            #expect(errors.count { $0.contains("No space left on device") } == 1, "\(errors)")
            #expect(errors.count { $0.contains("OnIncident= (run: --on-incident) failed: exit code 1") } == 1)
        }

        @Test("A program that exits successfully runs no command")
        func healthy() throws {
            #expect(try run("touch told", "/bin/true").code == 0)
            #expect(!scratch.exists("told"))
        }

        @Test("In the daemon, commands that hang are limited, and delay neither kills nor restarts nor the shutdown")
        func daemon() throws {
            let told = scratch["told"]
            let service = try Service(
                [
                    "hang": """
                    [App]
                    ExecStart=\(quoted(product("HangMain"))) --how sleep --after 0
                    [Watchdog]
                    Update=300ms
                    Ping=50ms
                    OnIncident=echo $WATCHDOGD_REPORT >> \(told); setsid sleep 31415.9264
                    [Restart]
                    Delay=1ms
                    MaxDelay=1ms
                    Limit=infinity
                    """
                ], scratch: scratch)
            // While one command hangs, and others wait.
            try service.program.line("skipped: too many incidents", on: .errors)
            let restarts = try service.app("hang").restarts
            try service.wait(for: "hang") { $0.restarts > restarts + 1 }
            #expect(try service.end() == 0)
            let reports = lines("told")
            // One per app at a time.
            #expect(reports.count == 1)
            #expect(reports.allSatisfy { contents(of: $0) != nil })
            #expect(!runs("31415.9264"))
            let drops = service.program.text(.errors).split(separator: "\n").filter {
                $0.contains("skipped: too many incidents")
            }
            #expect(drops.count == 1)
        }

        @Test(
            "The command runs with the privileges of whoever can write the app's file",
            .enabled(if: geteuid() == 0, "needs root"))
        func rights() throws {
            // No parent of the apps' folder may be writable by others, or whoever replaces it decides.
            let told = try scratch.makeDirectory("told")
            try #require(chmod(scratch.path, 0o755) == 0 && chmod(told, 0o777) == 0)
            func app(_ name: String) -> String {
                "[App]\nExecStart=/bin/false\nUser=65534\nEnabled=no\n[Watchdog]\n"
                    + "OnIncident=id -u > \(told)/\(name).user\n[Restart]\nPolicy=never\n"
            }
            let service = try Service(["own": app("own"), "foreign": app("foreign")], scratch: scratch)
            try #require(chown(scratch["apps/foreign.app"], 65534, 65534) == 0)
            for (name, user) in [("own", "0"), ("foreign", "65534")] {
                _ = try service.command("launch", "--no-wait", name)
                #expect(eventually { lines("told/\(name).user") == [user] }, "\(name): \(lines("told/\(name).user"))")
            }
            #expect(try service.end() == 0)
        }
    }
}
