// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

extension EndToEnd.SystemdTests {
    /// A service that pushes WATCHDOG=1 for a second, and then waits forever.
    private static let stall = """
        import os, socket, time
        def say(text):
            name = os.environ["NOTIFY_SOCKET"]
            address = "\\0" + name[1:] if name[0] == "@" else name
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(text.encode(), address)
        say("READY=1")
        for i in range(2):
            say("WATCHDOG=1")
            time.sleep(0.5)
        time.sleep(1000)
        """

    @Test("A service that stops pushing is captured before systemd aborts it, and followed to its next process")
    func observedPushes() throws {
        let container = try systemdContainer()
        try container.serve(["stall": "[App]\nObserve=stall\n"])
        try container.write(Self.stall, to: "/run/stall.py")
        try container.shell(
            """
            systemd-run --quiet --unit=stall --property=Type=notify --property=WatchdogSec=8 --property=Restart=always \\
                /usr/bin/python3 /run/stall.py
            """)
        defer { _ = try? container.run(["systemctl", "stop", "stall"]) }
        let first = try container.property("MainPID", of: "stall")
        let path = try #require(try container.reports(count: 1).first)
        let text = TextRenderer.render(try container.report(path))
        #expect(text.contains("scene-update watchdog transgression"), "\(text)")
        #expect(text.contains("started by systemd, as stall.service"), "\(text)")
        #expect(text.contains("Thread 0"), "\(text)")
        // systemd kills it, not watchdogd, and watchdogd finds the next one.
        #expect(
            try eventually {
                let now = try container.property("MainPID", of: "stall")
                let observed = try container.app("stall")?.pid
                return now != first && now != "0" && "\(observed ?? 0)" == now
            })
        let log = try container.log()
        #expect(log.contains("stall has failed (watchdog)"), "\(log)")
    }

    @Test(
        "nginx as Debian ships it: if its workers stop, there is a report, and systemd restarts it on request",
        .enabled(if: isInstalled("nginx"), "nginx is not installed"))
    func observedServer() throws {
        let container = try systemdContainer()
        try container.shell("systemctl start nginx")
        defer { _ = try? container.run(["systemctl", "kill", "--signal=KILL", "nginx"]) }
        try container.serve([
            "nginx": """
            [App]
            Observe=nginx
            [Watchdog]
            Probe=http://127.0.0.1:80/
            ProbeInterval=500ms
            ProbeTimeout=2s
            ProbeThreshold=2
            Enforce=restart-unit
            """
        ])
        let before = try #require(try container.app("nginx", becomes: "running").pid)
        // The master and its workers have one thread each.
        let workers = try container.shell("cat /proc/\(before)/task/\(before)/children").split(separator: " ").count
        let lines = try container.shell("watchdogd top --interval 200ms").split(separator: "\n")
        let line = lines.first { $0.hasPrefix("nginx") }
        // A duration has several words; the number of threads follows the memory.
        let words = line?.split(separator: " ") ?? []
        let threads = words.drop { !$0.hasSuffix("M") && !$0.hasSuffix("K") }.dropFirst().first
        #expect(threads == "\(workers + 1)", "\(line ?? "no line")")
        try container.shell("kill -STOP $(cat /proc/\(before)/task/\(before)/children)")
        let path = try #require(try container.reports(count: 1).first)
        let text = TextRenderer.render(try container.report(path))
        #expect(text.contains("ngx_master_process_cycle"), "\(text)")
        #expect(text.contains("Kill: none"), "\(text)")
        // systemd kills stopped workers when their TimeoutStopSec= is over.
        #expect(
            try eventually {
                guard let now = try container.app("nginx")?.pid else { return false }
                let main = try container.property("MainPID", of: "nginx")
                return now != before && "\(now)" == main
            })
        let log = try container.log()
        #expect(log.contains("after a hang, writes a crash log and restarts the service"), "\(log)")
        #expect(log.contains("asked systemd to restart nginx.service"), "\(log)")
        // The exit of watchdogd does not end the observed service.
        try container.shell("systemctl stop watchdogd")
        #expect(try container.property("ActiveState", of: "nginx") == "active")
    }
}

extension EndToEnd.SystemdTests {
    @Test(
        "redis as Debian ships it: an endless script has a report about the main thread, and redis survives",
        .enabled(if: isInstalled("redis-server") && isInstalled("redis-cli"), "redis is not installed"))
    func observedRedis() throws {
        let container = try systemdContainer()
        try container.shell("systemctl start redis-server")
        defer { _ = try? container.run(["systemctl", "kill", "--signal=KILL", "redis-server"]) }
        try container.serve([
            "redis": """
            [App]
            Observe=redis-server
            [Watchdog]
            Probe=exec:redis-cli ping
            ProbeInterval=500ms
            ProbeTimeout=1s
            ProbeThreshold=2
            """
        ])
        let before = try #require(try container.app("redis", becomes: "running").pid)
        // After five seconds it would answer that it is busy.
        try container.shell("redis-cli config set lua-time-limit 600000")
        try container.shell("setsid -f redis-cli eval 'while true do end' 0 >/dev/null 2>&1 </dev/null")
        let path = try #require(try container.reports(count: 1).first)
        let report = try container.report(path)
        #expect(report.body.pid == Int(before))
        #expect(report.faultingStack?.calls.contains { $0.name == "lua_pcall" } == true)
        #expect(report.body.linux?.findings?.contains { $0.kind == .embeddedScript } == true)
        let text = TextRenderer.render(report)
        #expect(text.contains("Kill: none") && text.contains("redis-cli ping"), "\(text)")
        // Spinning, or busy if others take the CPU.
        let verdict = try #require(report.body.linux).verdict.kind.rawValue
        let metrics = try container.shell("watchdogd metrics")
        #expect(
            metrics.contains("watchdogd_app_verdicts_total{app=\"redis\",verdict=\"\(verdict)\"} 1\n"), "\(metrics)")
        #expect(try container.property("MainPID", of: "redis-server") == "\(before)")
    }

    @Test(
        "PostgreSQL as Debian ships it: a stopped postmaster has a report that does not blame it",
        .enabled(if: isInstalled("pg_ctlcluster") && isInstalled("psql"), "PostgreSQL is not installed"))
    func observedPostgres() throws {
        let container = try systemdContainer()
        let cluster = try container.shell("pg_lsclusters --no-header | awk 'NR == 1 { print $1 \"-\" $2 }'").trimmed
        let unit = "postgresql@\(cluster)"
        try container.shell("systemctl start \(unit)")
        defer { _ = try? container.run(["systemctl", "kill", "--signal=KILL", unit]) }
        try container.serve([
            "postgres": """
            [App]
            Observe=\(unit)
            [Watchdog]
            Probe=exec:pg_isready --quiet --timeout=1
            ProbeInterval=500ms
            ProbeTimeout=2s
            ProbeThreshold=2
            """
        ])
        let postmaster = try #require(try container.app("postgres", becomes: "running").pid)
        try container.shell("kill -STOP \(postmaster)")
        let path = try #require(try container.reports(count: 1).first)
        let report = try container.report(path)
        #expect(report.body.pid == Int(postmaster))
        #expect(report.body.linux?.verdict.kind == .stopped)
        #expect(report.faultingStack?.calls.contains { $0.name == "PostmasterMain" } == true)
        let processes = report.body.linux?.processes?.count ?? 0
        #expect(processes >= 3, "its writers and its checkpointer are there: \(processes)")
        // It serves again once it is continued.
        try container.shell("kill -CONT \(postmaster); pg_isready --quiet --timeout=10")
    }
}

extension EndToEnd.SystemdTests {
    /// Ready after half a second; then it waits, and stops handling anything once it is told to hang.
    private static let notifying = """
        import os, signal, socket, time
        def say(text):
            name = os.environ["NOTIFY_SOCKET"]
            address = "\\0" + name[1:] if name[0] == "@" else name
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(text.encode(), address)
        time.sleep(0.5)
        say("READY=1\\nSTATUS=serving")
        while not os.path.exists("/run/hang"):
            say("WATCHDOG=1")
            time.sleep(0.2)
        time.sleep(1000)
        """

    @Test("An app that cannot be judged is reported once, and observed when its service changes")
    func unjudgeable() throws {
        let container = try systemdContainer()
        try container.write(
            "[Service]\nExecStart=/bin/sleep 1000\n", to: "/etc/systemd/system/idle.service")
        try container.shell("systemctl daemon-reload; systemctl start idle")
        defer { _ = try? container.run(["systemctl", "stop", "idle"]) }
        try container.serve(["idle": "[App]\nObserve=idle\n", "gone": "[App]\nObserve=no-such\n"])
        let refusal = "cannot detect a hang of idle: idle.service has no WatchdogSec="
        #expect(try eventually { try container.log().contains(refusal) })
        // A service queried more than once a second would have been queried a hundred times.
        try container.shell("sleep 3")
        #expect(try container.log().components(separatedBy: refusal).count == 2)
        #expect(try container.log().components(separatedBy: "there is no no-such.service").count == 2)
        #expect(try container.app("idle")?.state == "waiting")
        try container.shell("watchdogd terminate idle gone")
        #expect(try container.app("idle")?.state == "stopped")
    }

    @Test("wrap keeps Type=notify and stop; a hang is killed with a crash log and restarted; unwrap reverts it")
    func wrap() throws {
        let container = try systemdContainer()
        try container.write(Self.notifying, to: "/run/wrapped.py")
        try container.write(
            """
            [Service]
            Type=notify
            ExecStart=/usr/bin/python3 /run/wrapped.py
            WatchdogSec=2s
            Restart=always
            RestartSec=100ms
            """, to: "/etc/systemd/system/wrapped.service")
        try container.shell("rm -f /run/hang; systemctl daemon-reload")
        let refused = try container.run(["watchdogd", "wrap", "wrapped"])
        #expect(refused.code == 64)
        #expect(refused.output.contains("+ExecStart=/"), "\(refused.output)")
        #expect(refused.errors.contains("nothing was changed"), "\(refused.errors)")
        let wrapped = try container.run(["watchdogd", "wrap", "wrapped", "--yes"])
        #expect(wrapped.code == 0, "\(wrapped.errors)")
        defer { _ = try? container.run(["systemctl", "stop", "wrapped"]) }
        // Returns only when READY=1 has arrived.
        try container.shell("systemctl daemon-reload && systemctl start wrapped")
        #expect(try container.property("StatusText", of: "wrapped") == "serving")
        let main = try container.property("MainPID", of: "wrapped")
        let comm = try container.shell("cat /proc/\(main)/comm").trimmed
        #expect(comm == "watchdogd")
        try container.shell("touch /run/hang")
        let isRestarted = try eventually {
            try container.property("NRestarts", of: "wrapped") != "0"
        }
        #expect(isRestarted)
        try container.shell("rm /run/hang")
        let files = try container.shell("ls /var/log/watchdogd-wrapped")
        #expect(files.contains("wrapped-") && files.contains(".ips"), "\(files)")
        try container.shell("systemctl stop wrapped")
        #expect(try container.property("Result", of: "wrapped") == "success")
        let removed = try container.run(["watchdogd", "unwrap", "wrapped", "--yes"])
        #expect(removed.code == 0, "\(removed.errors)")
        #expect(try container.run(["test", "-e", "/etc/systemd/system/wrapped.service.d"]).code == 1)
        #expect(try container.run(["watchdogd", "unwrap", "wrapped", "--yes"]).code == 66)
    }

    /// Rereads its configuration on SIGHUP, as sd_notify(3) demands it, and takes until /run/finish exists.
    private static let reloading = """
        import os, signal, socket, time
        def say(text):
            name = os.environ["NOTIFY_SOCKET"]
            address = "\\0" + name[1:] if name[0] == "@" else name
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(text.encode(), address)
        def reload(*_):
            say(f"RELOADING=1\\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
            while not os.path.exists("/run/finish"):
                time.sleep(0.01)
            say("READY=1\\nSTATUS=" + open("/run/reloading.conf").read())
        signal.signal(signal.SIGHUP, reload)
        say(f"READY=1\\nSTATUS={os.getpid()}")
        while True:
            signal.pause()
        """

    @Test("A wrapped service is reloaded as before: it is reloading until its program says otherwise, in one process")
    func wrapReload() throws {
        let container = try systemdContainer()
        try container.write(Self.reloading, to: "/run/reloading.py")
        try container.write("new", to: "/run/reloading.conf")
        try container.write(
            """
            [Service]
            Type=notify
            ExecStart=/usr/bin/python3 /run/reloading.py
            ExecReload=/bin/kill -HUP $MAINPID
            Restart=always
            """, to: "/etc/systemd/system/reloading.service")
        try container.shell(
            """
            rm -f /run/finish
            systemctl daemon-reload
            watchdogd wrap reloading --yes
            systemctl daemon-reload
            systemctl start reloading
            """)
        defer { _ = try? container.shell("systemctl stop reloading; watchdogd unwrap reloading --yes") }
        var process = ""
        // The status is a message of its own, after READY=1.
        let hasStatus = try eventually {
            process = try container.property("StatusText", of: "reloading")
            return !process.isEmpty
        }
        #expect(hasStatus)
        let main = try container.property("MainPID", of: "reloading")
        #expect(process != main, "the main process is watchdogd")
        // Without --no-block, systemctl waits until the reload is complete.
        try container.shell("systemctl reload --no-block reloading")
        // Not only while the command of ExecReload= runs.
        let isReloading = try eventually {
            let state = try container.shell("systemctl show --property=ActiveState,ControlPID reloading")
            return state.contains("ActiveState=reloading\n") && state.contains("ControlPID=0\n")
        }
        #expect(isReloading)
        try container.write("", to: "/run/finish")
        #expect(try eventually { try container.property("StatusText", of: "reloading") == "new" })
        #expect(try eventually { try container.property("ActiveState", of: "reloading") == "active" })
        #expect(try container.property("MainPID", of: "reloading") == main)
        #expect(try container.shell("cat /proc/\(process)/comm").trimmed == "python3")
        #expect(try container.shell("ls /var/log/watchdogd-reloading").trimmed == "")
    }
}
