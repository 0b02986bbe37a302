// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    @Suite("watchdogd serve, reloading its configuration")
    struct ServeReloadTests {
        private static let sleeper = "[App]\nExecStart=/bin/sleep 1000\n[Watchdog]\nReadiness=none\n"

        @Test("Apps are added, removed and changed; unchanged ones are not touched")
        func reload() throws {
            let service = try Service(["same": Self.sleeper, "other": Self.sleeper, "gone": Self.sleeper])
            let same = try service.wait(for: "same") { $0.state == .running }.pid
            let other = try service.wait(for: "other") { $0.state == .running }.pid
            try service.write(Self.sleeper + "[App]\nEnvironment=A=1\n", to: "other")
            try service.write(Self.sleeper, to: "new")
            service.remove("gone")
            let answer = try service.command("reload")
            #expect(answer.code == 0)
            #expect(answer.output == "added: new\nchanged: other\nrestarting: other\nremoved: gone\nunchanged: 1\n")
            try service.wait(for: "new") { $0.state == .running }
            try service.wait(for: "other") { $0.state == .running && $0.pid != other }
            #expect(try service.app("same").pid == same)
            #expect(eventually { (try? service.client.list().apps.map(\.name)) == ["new", "other", "same"] })
            #expect(try service.end() == 0)
        }

        @Test("A dry run shows each setting that would change and what it would restart, and changes nothing")
        func dryRun() throws {
            let service = try Service(["same": Self.sleeper, "other": Self.sleeper, "gone": Self.sleeper])
            let pids = try ["gone", "other", "same"].map { name in
                try service.wait(for: name) { $0.state == .running }.pid
            }
            try service.write(Self.sleeper + "[App]\nNice=3\n", to: "other")
            try service.write(Self.sleeper + "[App]\nDescription=quiet\n", to: "same")
            try service.write(Self.sleeper, to: "new")
            service.remove("gone")
            let answer = try service.command("reload", "--dry-run")
            #expect(answer.code == 0)
            #expect(
                answer.output == """
                    new: would be added
                      + ExecStart=/bin/sleep 1000
                      + Readiness=none
                    other: would change, and be restarted
                      + Nice=3
                    same: would change without a restart
                      + Description=quiet
                    gone: would be removed, and its process terminated
                      - ExecStart=/bin/sleep 1000
                      - Readiness=none
                    unchanged: 0

                    """)
            #expect(try service.client.list().apps.map(\.pid) == pids)
            #expect(
                try service.command("reload").output
                    == "added: new\nchanged: other same\nrestarting: other\nremoved: gone\nunchanged: 0\n")
            #expect(try service.command("reload", "--dry-run").output == "unchanged: 3\n")
            try service.write("[App]\nNise=3\n", to: "new")
            #expect(try service.command("reload", "--dry-run").code == 65)
            #expect(try service.command("reload", "--dry-run", "new").code == 64)
            #expect(try service.end() == 0)
        }

        @Test("One mistake prevents every change")
        func atomic() throws {
            let service = try Service(["a": Self.sleeper, "b": Self.sleeper])
            let pids = try ["a", "b"].map { name in try service.wait(for: name) { $0.state == .running }.pid }
            service.remove("a")
            try service.write(Self.sleeper, to: "c")
            try service.write("[App]\nExecStart=/bin/true\nNise=3\n", to: "b")
            let answer = try service.command("reload")
            #expect(answer.code == 65)
            #expect(answer.errors.contains("the configuration is invalid; nothing was changed"))
            #expect(answer.errors.contains("b.app:3:1: error: unknown key \"Nise\" in [App]; did you mean \"Nice\"?"))
            #expect(try service.client.list().apps.map(\.pid) == pids)
            #expect(try service.end() == 0)
        }

        @Test("SIGHUP reloads the configuration")
        func hangup() throws {
            let service = try Service(["a": Self.sleeper])
            try service.wait(for: "a") { $0.state == .running }
            try service.write(Self.sleeper, to: "b")
            try service.program.send(SIGHUP)
            try service.wait(for: "b") { $0.state == .running }
            #expect(try service.end() == 0)
        }

        @Test(
            "A setting that does not affect the process leaves it alone",
            arguments: [
                "[App]\nDescription=new\n", "[App]\nExecReload=/bin/true\n", "[Watchdog]\nReload=5s\n",
                "[Watchdog]\nKeepReports=2d\n",
            ])
        func otherSettings(change: String) throws {
            let service = try Service(["a": Self.sleeper])
            let pid = try service.wait(for: "a") { $0.state == .running }.pid
            try service.write(Self.sleeper + change, to: "a")
            #expect(try service.command("reload").output == "changed: a\nunchanged: 0\n")
            #expect(try service.app("a").pid == pid && service.app("a").state == .running)
            #expect(try service.end() == 0)
        }

        @Test("A change of [Restart] alone leaves the process alone")
        func restartSettings() throws {
            let service = try Service(["a": Self.sleeper])
            let pid = try service.wait(for: "a") { $0.state == .running }.pid
            try service.write(Self.sleeper + "[Restart]\nPolicy=never\n", to: "a")
            #expect(try service.command("reload").output == "changed: a\nunchanged: 0\n")
            #expect(try service.app("a").pid == pid)
            kill(try #require(pid), SIGKILL)
            try service.wait(for: "a") { $0.state == .stopped }
            #expect(try service.end() == 0)
        }

        @Test("An app stopped by hand stays down through a reload")
        func stopped() throws {
            let service = try Service(["a": Self.sleeper])
            try service.wait(for: "a") { $0.state == .running }
            #expect(try service.command("terminate", "a").code == 0)
            try service.write(Self.sleeper + "[App]\nEnvironment=A=1\n", to: "a")
            #expect(try service.command("reload").code == 0)
            #expect(try service.app("a").state == .stopped)
            #expect(try service.command("launch", "a").code == 0)
            #expect(try service.app("a").state == .running)
            #expect(try service.end() == 0)
        }
    }
}
