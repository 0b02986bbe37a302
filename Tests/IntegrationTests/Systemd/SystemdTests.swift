// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux
import WatchdogRendering

extension EndToEnd {
    @Suite(
        "Under a real systemd", .serialized,
        .enabled(if: SystemdContainer.obstacle.isEmpty, "\(SystemdContainer.obstacle)"), .booted
    )
    struct SystemdTests {
        private let container: SystemdContainer

        init() throws {
            container = try systemdContainer()
        }

        private let healthy = appFile(quoted(product("HealthyApp")), watchdog: "Readiness=channel")

        private let hanging = appFile(
            "\(quoted(product("HangMain"))) --how semaphore", watchdog: "Update=2s", restart: "Policy=never")

        /// Expects a report of ``hanging``, with the function in which it waits.
        private func expectHang(_ path: String) throws {
            let text = TextRenderer.render(try container.report(path))
            let parts = ["scene-update watchdog transgression", "code:0x8BADF00D", "waitForDownload()"]
            let missing = parts.filter { !text.contains($0) }
            #expect(missing == [], "\(text)")
        }

        // MARK: The units

        @Test("systemd accepts the units, and their pages exist")
        func units() throws {
            let system = try container.run(
                ["systemd-analyze", "verify", "watchdogd.service", "watchdogd@web.service"])
            #expect(system.code == 0)
            #expect(system.errors == "")
            let user = try container.run(
                [
                    "env", "XDG_RUNTIME_DIR=/run", "systemd-analyze", "--user", "verify",
                    "/usr/lib/systemd/user/watchdogd.service",
                ])
            #expect(user.code == 0)
            #expect(user.errors == "")
        }

        /// Logs in which folders it can write, and whether it can create a namespace.
        private let tries = appFile(
            """
            /bin/sh -c 'for d in /etc /usr /opt /tmp /root /var/lib; do touch $$d/tried && echo $$d; done; \\
            unshare -i echo namespace; echo end'
            """,
            app: "StandardOutput=append:/run/tried\nStandardError=null", watchdog: "Readiness=none",
            restart: "Policy=never")

        private func tried() throws -> [String] {
            var lines: [String] = []
            let isWhole = try eventually {
                lines = try container.shell("cat /run/tried || true").split(separator: "\n").map(String.init)
                return lines.last == "end"
            }
            #expect(isWhole)
            return lines.dropLast()
        }

        @Test("without clone3, apps are in their own cgroups anyway, and the log states the cost")
        func namespacesRestricted() throws {
            try container.serve(["one": healthy, "two": healthy])
            for restriction in ["no", "yes"] {
                try container.shell("systemctl stop watchdogd")
                try container.override("RestrictNamespaces=\(restriction)")
                try container.shell("systemctl start watchdogd")
                for name in ["one", "two"] {
                    let pid = try #require(try container.app(name, becomes: "running").pid)
                    let cgroup = try container.shell("cat /proc/\(pid)/cgroup")
                    #expect(cgroup.contains("watchdogd.service/watchdogd-serve/\(name)"))
                }
                let told = try container.shell("journalctl -q --boot --unit watchdogd --grep clone3 || true")
                #expect(told.isEmpty == (restriction == "no"))
            }
        }

        @Test("the exposure is 4.6 at most, a hang is captured with its stacks, and one link removes the confinement")
        func confinement() throws {
            try container.serve(["hang": hanging, "tries": tries])
            try container.shell("systemd-analyze security --no-pager --threshold=46 watchdogd.service >/dev/null")
            try expectHang(try container.reports(count: 1)[0])
            let confined = try tried()
            #expect(confined == ["/opt", "/tmp", "/root", "/var/lib"])
            try container.shell(
                """
                mkdir -p /etc/systemd/system/watchdogd.service.d
                ln -s /dev/null /etc/systemd/system/watchdogd.service.d/confinement.conf
                rm /run/tried
                systemctl daemon-reload && systemctl stop watchdogd && systemctl start watchdogd
                """)
            let free = try tried()
            #expect(free == ["/etc", "/usr", "/opt", "/tmp", "/root", "/var/lib", "namespace"])
        }

        // MARK: A day of a service

        @Test("it is ready when systemd reports it as active, and its status describes its apps")
        func starts() throws {
            try container.serve(["one": healthy, "two": healthy])
            #expect(try container.property("ActiveState", of: "watchdogd") == "active")
            #expect(
                try eventually { try container.property("StatusText", of: "watchdogd") == "2 apps: 2 running" })
            for name in ["one", "two"] {
                let app = try container.app(name, becomes: "running")
                #expect(app.pid != nil)
            }
            #expect(try container.processes().count == 3)
            #expect(try container.property("NRestarts", of: "watchdogd") == "0")
        }

        @Test("a hang is killed with its stacks; root and the group that reads logs can read the report")
        func hang() throws {
            try container.serve([
                "hang": hanging,
                "good": healthy,
            ])
            let path = try container.reports(count: 1)[0]
            try expectHang(path)
            #expect(try container.shell("stat -c '%a %U %G' \(path)").trimmed == "640 root adm")
            #expect(try container.app("hang", becomes: "stopped").pid == nil)
            #expect(try container.app("good")?.state == "running")
        }

        @Test("systemctl reload fails with the reason if the configuration is invalid, and nothing changes")
        func reload() throws {
            try container.serve(["one": healthy])
            let before = try container.app("one", becomes: "running")
            try container.write(healthy, to: "/etc/watchdogd/apps.d/two.app")
            try container.write("[App]\nExecStrat=/bin/true\n", to: "/etc/watchdogd/apps.d/three.app")
            let answer = try container.run(["systemctl", "reload", "watchdogd"])
            #expect(answer.code != 0)
            #expect(try container.log().contains("did you mean \"ExecStart\""))
            #expect(try container.apps() == [before])

            try container.shell("rm /etc/watchdogd/apps.d/three.app; systemctl reload watchdogd")
            try container.app("two", becomes: "running")
            #expect(try container.app("one") == before)
            #expect(try container.property("ActiveState", of: "watchdogd") == "active")
        }

        @Test("everybody sees names and states; only root sees more and can act")
        func rights() throws {
            try container.serve(["one": healthy])
            try container.app("one", becomes: "running")
            let list = try container.run(["setpriv", "--reuid=nobody", "--clear-groups", "watchdogd", "list"])
            #expect(list.code == 0)
            #expect(list.output.contains("one"))
            #expect(list.output.contains("Only root") && !list.output.contains("PID"))
            let stop = try container.run(
                ["setpriv", "--reuid=nobody", "--clear-groups", "watchdogd", "terminate", "one"])
            #expect(stop.code == 77)
            #expect(try container.app("one")?.state == "running")
        }

        @Test("systemctl stop terminates every app, and leaves no process")
        func stop() throws {
            try container.serve(["one": healthy, "two": healthy])
            for name in ["one", "two"] { try container.app(name, becomes: "running") }
            try container.shell("systemctl stop watchdogd")
            #expect(try container.processes() == [])
            #expect(try container.property("Result", of: "watchdogd") == "success")
        }

        @Test("an app that hangs is killed even if the folder of reports is full")
        func fullFolder() throws {
            try container.serve([:])
            try container.shell(
                """
                mount -t tmpfs -o size=16k,mode=2750 full /var/log/watchdogd/reports
                head -c 12k /dev/zero >/var/log/watchdogd/reports/ballast
                """)
            defer { _ = try? container.run(["umount", "--lazy", "/var/log/watchdogd/reports"]) }
            try container.write(
                hanging,
                to: "/etc/watchdogd/apps.d/hang.app")
            try container.write(healthy, to: "/etc/watchdogd/apps.d/good.app")
            try container.shell("systemctl reload watchdogd")
            try container.app("hang", becomes: "stopped")
            #expect(try eventually { try container.log().contains("No space left on device") })
            #expect(try container.app("good")?.state == "running")
            #expect(try container.property("NRestarts", of: "watchdogd") == "0")
        }

        @Test("deadlines are met while journald is stopped")
        func stoppedJournal() throws {
            try container.serve(["good": healthy])
            try container.app("good", becomes: "running")
            try container.shell("systemctl kill --signal=STOP systemd-journald")
            defer { _ = try? container.run(["systemctl", "kill", "--signal=CONT", "systemd-journald"]) }
            try container.write(
                hanging,
                to: "/etc/watchdogd/apps.d/hang.app")
            try container.shell("watchdogd reload")
            try expectHang(try container.reports(count: 1)[0])
            #expect(try container.app("good")?.state == "running")
        }

        @Test("systemd's own watchdog kills a watchdogd whose loop is stuck")
        func watchdogOfTheWatchdog() throws {
            try container.serve(["good": healthy])
            try container.override("WatchdogSec=4s\nWatchdogSignal=SIGKILL")
            try container.shell("systemctl restart watchdogd")
            let before = try container.supervisor()
            // It answers: several times the interval without a restart.
            try container.shell("sleep 9")
            #expect(try container.supervisor() == before)
            try container.shell("kill -STOP \(before)")
            #expect(
                try eventually {
                    let now = try container.supervisor()
                    return now != before && now != "0"
                })
            #expect(
                try eventually { try container.property("ActiveState", of: "watchdogd") == "active" })
        }

        @Test("systemd restarts an app in its own unit after a kill")
        func instance() throws {
            try container.serve([:])
            try container.shell("systemctl stop watchdogd")
            try container.write(hanging, to: "/etc/watchdogd/apps.d/hang.app")
            try container.shell("systemctl start watchdogd@hang")
            try expectHang(try container.reports(count: 1)[0])
            #expect(try eventually { try container.property("NRestarts", of: "watchdogd@hang") != "0" })
            try container.shell("systemctl stop watchdogd@hang")
            #expect(try container.property("Result", of: "watchdogd@hang") == "success")
            #expect(try container.shell("pgrep --count HangMain || true").trimmed == "0")
        }

        // MARK: The journal

        @Test("a kill is an entry with its own MESSAGE_ID and fields, which journalctl -x explains")
        func journalEntry() throws {
            try container.shell("journalctl --update-catalog")
            try container.serve(["hang": hanging])
            let report = try container.reports(count: 1)[0]
            let killed = "MESSAGE_ID=625be8b805824436a7005458c4889c7e WATCHDOGD_REPORT=\(report)"
            #expect(
                try eventually { try !container.shell("journalctl --quiet --output cat \(killed)").trimmed.isEmpty })
            func field(_ name: String) throws -> String {
                try container.shell("journalctl --quiet --output cat --output-fields=\(name) \(killed)").trimmed
            }
            #expect(try field("WATCHDOGD_APP") == "hang")
            #expect(try field("WATCHDOGD_EVENT") == "scene-update")
            #expect(try field("WATCHDOGD_CODE") == "0x8badf00d")
            #expect(try field("PRIORITY") == "3")
            #expect(try field("_SYSTEMD_UNIT") == "watchdogd.service")
            #expect(try field("WATCHDOGD_VERDICT").hasPrefix("Main thread waits for a DispatchSemaphore in "))
            let explained = try container.shell("journalctl --quiet --catalog \(killed)")
            #expect(explained.contains("hang has been killed by the watchdog (0x8badf00d)"))
            #expect(explained.contains("watchdogd report explain \(report)"))
        }

        @Test("early output of apps is read from the journal, though the unit hides the container's boot id")
        func logs() throws {
            let talks = appFile("/bin/sh -c 'echo one; echo two; exec sleep 1000'", watchdog: "Readiness=none")
            let names = (1...8).map { "talks\($0)" }
            try container.serve(Dictionary(uniqueKeysWithValues: names.map { ($0, talks) }))
            for name in names {
                try container.app(name, becomes: "running")
                var words: [String?] = []
                let isRead = try eventually {
                    words = try container.shell("watchdogd logs \(name)").split(separator: "\n")
                        .map { $0.split(separator: " ").last.map(String.init) }
                    return words == ["one", "two"]
                }
                #expect(isRead, "\(words)")
            }
        }

        // MARK: Apps across restarts

        /// The process IDs of some apps, all of which run.
        private func processes(of names: [String]) throws -> [Int32?] {
            try names.map { try container.app($0, becomes: "running").pid }
        }

        @Test("systemctl restart replaces watchdogd and leaves the apps running")
        func restart() throws {
            let names = ["one", "two", "three"]
            try container.serve(Dictionary(uniqueKeysWithValues: names.map { ($0, healthy) }))
            let before = try processes(of: names)
            let supervisor = try container.supervisor()
            try container.shell("systemctl restart watchdogd")
            #expect(try container.supervisor() != supervisor)
            #expect(try processes(of: names) == before)
            #expect(try container.apps().map(\.restarts) == [0, 0, 0])
            #expect(try container.processes().count == 4)
        }

        @Test("twenty times killed by SIGKILL on a busy machine: every app is there, none twice, none restarted")
        func killedAgainAndAgain() throws {
            let names = (1...8).map { "app\($0)" }
            try container.serve(Dictionary(uniqueKeysWithValues: names.map { ($0, healthy) }))
            let before = try processes(of: names)
            try container.shell(
                "for i in 1 2 3 4; do systemd-run --quiet --unit=load$i sh -c 'while :; do :; done'; done")
            defer { _ = try? container.run(["systemctl", "stop", "load1", "load2", "load3", "load4"]) }
            for _ in 1...20 {
                let supervisor = try container.supervisor()
                try container.shell("systemctl kill --kill-whom=main --signal=KILL watchdogd")
                let isBack = try eventually {
                    let now = try container.supervisor()
                    guard now != supervisor, now != "0" else { return false }
                    return try container.property("ActiveState", of: "watchdogd") == "active"
                }
                #expect(isBack)
            }
            #expect(try processes(of: names) == before)
            #expect(try container.apps().map(\.restarts) == names.map { _ in 0 })
            let commands = try container.processes()
            #expect(commands.filter { $0.hasSuffix("/HealthyApp") }.count == names.count, "\(commands)")
            #expect(try container.property("NRestarts", of: "watchdogd") == "20")
            #expect(try container.reports() == [])
            try container.shell("systemctl stop watchdogd")
            #expect(try container.processes() == [])
        }

        @Test("SIGUSR2 executes the installed program in the same process, with the same apps")
        func reexecution() throws {
            try container.serve(["one": healthy])
            let before = try processes(of: ["one"])
            let supervisor = try container.supervisor()
            try container.shell(
                """
                cp /usr/bin/watchdogd /usr/bin/watchdogd.new
                mv /usr/bin/watchdogd.new /usr/bin/watchdogd
                systemctl kill --kill-whom=main --signal=USR2 watchdogd
                """)
            let isReplaced = try eventually {
                try container.run(
                    ["test", "/proc/\(supervisor)/exe", "-ef", "/usr/bin/watchdogd"]
                ).code == 0
            }
            #expect(isReplaced)
            #expect(try processes(of: ["one"]) == before)
            #expect(try container.supervisor() == supervisor)
        }

        @Test("a user has their own watchdogd and apps")
        func user() throws {
            try container.serve([:])
            try container.shell(
                """
                id tester >/dev/null 2>&1 || useradd --create-home --shell /bin/sh tester
                install -d -o tester -g tester ~tester/.config ~tester/.config/watchdogd ~tester/.config/watchdogd/apps.d
                printf '[App]\\nExecStart=/bin/sleep 3600\\n[Watchdog]\\nReadiness=none\\n' \
                    >~tester/.config/watchdogd/apps.d/sleeper.app
                loginctl enable-linger tester
                """)
            defer { _ = try? container.run(["loginctl", "disable-linger", "tester"]) }
            let user =
                "setpriv --reuid=tester --regid=tester --init-groups env HOME=/home/tester XDG_RUNTIME_DIR=/run/user/$(id -u tester)"
            #expect(
                try eventually {
                    try container.run(["sh", "-c", "\(user) systemctl --user is-system-running"]).code == 0
                })
            try container.shell("\(user) systemctl --user start watchdogd")
            #expect(
                try eventually { try container.shell("\(user) watchdogd list").contains("running") })
            #expect(try container.apps() == [])
            try container.shell("\(user) systemctl --user stop watchdogd")
        }

        @Test("after a reboot all enabled apps run again")
        func reboot() throws {
            try container.serve(["good": healthy])
            try container.shell("systemctl enable watchdogd")
            try container.reboot()
            try container.app("good", becomes: "running")
            try container.shell("systemctl disable watchdogd")
        }
    }
}
