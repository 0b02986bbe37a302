// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy

extension EndToEnd {
    @Suite("watchdogd serve")
    struct ServeTests {
        private static let sleeper = "[App]\nExecStart=/bin/sleep 1000\n\(unhurriedSettings)Readiness=none\n"

        private static func shell(_ script: String, _ rest: String = "") -> String {
            let settings = rest.contains("Terminate=") ? "[Watchdog]\n" : unhurriedSettings
            return "[App]\nExecStart=/bin/sh -c '\(script)'\nStandardOutput=inherit\n\(settings)Readiness=none\n\(rest)"
        }

        @Test("All enabled apps run; disabled ones and templates do not")
        func launches() throws {
            let disabled = Self.sleeper + "[App]\nEnabled=no\n"
            let service = try Service(["a": Self.sleeper, "b": Self.sleeper, "c": disabled, "t@": Self.sleeper])
            for name in ["a", "b"] { try service.wait(for: name) { $0.state == .running } }
            let apps = try service.client.list().apps
            #expect(apps.map(\.name) == ["a", "b", "c"])
            #expect(apps.map(\.state) == [.running, .running, .stopped])
            #expect(eventually { service.processes.count == 2 })
            #expect(try service.end() == 0)
        }

        @Test("The first launch does not wait for the kernel to enlarge the descriptor table")
        func descriptorTable() throws {
            let service = try Service()
            func size() throws -> Substring? {
                let status = try #require(contents(of: "/proc/\(service.program.pid)/status"))
                return String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("FDSize:") }
            }
            // Its socket exists before it is ready for launches; it answers afterwards.
            _ = try service.client.list()
            let before = try size()
            try service.write(Self.sleeper, to: "app")
            _ = try service.client.reload()
            try service.wait(for: "app") { $0.state == .running }
            #expect(try size() == before)
            #expect(try service.end() == 0)
        }

        @Test("Paths relative to the daemon's directory are reported to clients in full")
        func relativePlaces() throws {
            let service = try Service(["a": Self.sleeper], options: ["--config", "apps", "--reports", "reports"])
            try service.wait(for: "a") { $0.state == .running }
            let capture = try service.command("capture", "a")
            #expect(capture.code == 0)
            #expect(capture.output.hasPrefix("\(service.scratch["reports"])/a-"), "\(capture)")
            #expect(try service.command("status", "a").output.contains("File: \(service.scratch["apps"])/a.app\n"))
            #expect(try service.end() == 0)
        }

        @Test("An invalid file is listed with its errors, and other apps run")
        func brokenFile() throws {
            let service = try Service(["good": Self.sleeper, "bad": "[App]\nExecStrat=/bin/true\n"])
            try service.wait(for: "good") { $0.state == .running }
            let list = try service.command("list")
            #expect(list.code == 0)
            #expect(list.output.contains("bad.app:2:1: error: unknown key \"ExecStrat\""))
            #expect(list.output.contains("1 app: 1 running; 1 invalid file"))
            #expect(list.output.contains("bad   invalid "))
            for command in ["status", "launch"] {
                let answer = try service.command(command, "bad")
                #expect(answer.code == 65)
                #expect(answer.errors.contains("the configuration of \"bad\" is invalid; correct it"))
                #expect(answer.errors.contains("bad.app:2:1: error: unknown key \"ExecStrat\""))
            }
            #expect(try service.end() == 0)
        }

        @Test("An app that exits is restarted by its policy: after a failure, not after success")
        func policies() throws {
            let service = try Service([
                "fails": Self.shell("exit 3"),
                "succeeds": Self.shell("exit 0"),
                "always": Self.shell("exit 0", "[Restart]\nPolicy=always\n"),
                "never": Self.shell("exit 3", "[Restart]\nPolicy=never\n"),
            ])
            try service.wait(for: "fails") { $0.restarts >= 2 }
            try service.wait(for: "always") { $0.restarts >= 2 }
            for name in ["succeeds", "never"] {
                try service.wait(for: name) { $0.state == .stopped }
                #expect(try service.app(name).restarts == 0)
            }
            #expect(try service.app("fails").lastIncident?.kind == .exit)
            try service.program.line("fails restarting at once (exit): exited with code 3", on: .errors)
            #expect(try service.app("succeeds").lastIncident == nil)
            #expect(try service.end() == 0)
        }

        @Test("A program that daemonizes is terminated with its first process, which is reported")
        func background() throws {
            let service = try Service(["forks": Self.shell("sleep 1000 & exit 0")])
            try service.wait(for: "forks") { $0.state == .stopped && $0.lastIncident != nil }
            let incident = try #require(try service.app("forks").lastIncident)
            #expect(incident.kind == .exit)
            let words = "left 1 process behind when it exited with code 0, which was ended; it has to stay"
            #expect(incident.summary.hasPrefix(words))
            try service.program.line("forks \(incident.summary)", on: .errors)
            #expect(service.processes == [])
            var events: [ControlEvent] = []
            try service.client.monitor(MonitorRequest(apps: ["forks"], history: 10)) { reply in
                if let event = reply.event { events.append(event) }
                return events.last?.kind != .leftBehind
            }
            #expect(events.map(\.kind) == [.launched, .ready, .exited, .leftBehind], "\(events)")
            #expect(events.last?.message == incident.summary)
            #expect(try service.end() == 0)
        }

        @Test("Apps that fail immediately and repeatedly delay neither another's deadline nor a request to exit")
        func failingWithoutPause() throws {
            // More work than one CPU can do: each is restarted as soon as its exit is noticed.
            let loop = Self.shell(
                "exit 3", "[Restart]\nPolicy=always\nDelay=1ms\nMaxDelay=1ms\nReset=1ms\nLimit=infinity\n")
            var apps = Dictionary(uniqueKeysWithValues: (0..<16).map { ("loop\($0)", loop) })
            apps["hangs"] =
                "[App]\nExecStart=\(quoted(product("HangMain"))) --how sleep --after 0\n"
                + "[Watchdog]\nUpdate=1s\nPing=200ms\n[Restart]\nPolicy=never\n"
            let service = try Service(apps)
            try service.wait(for: "hangs") { $0.state == .stopped && $0.lastIncident?.event == "scene-update" }
            // The other apps' lines do not crowd it out.
            try service.program.line("] killed: did not answer within 1 s", on: .errors)
            for name in apps.keys where name != "hangs" {
                #expect(try service.client.terminate(AppRequest(name, waits: true)).isGone)
            }
            #expect(try service.client.list().apps.allSatisfy { $0.state == .stopped })
            #expect(try service.end() == 0)
        }

        @Test("At its limit an app stays down, and a manual launch gives it another chance")
        func limit() throws {
            let service = try Service([
                "loop": Self.shell("exit 3", "[Restart]\nLimit=2\nDelay=1ms\nAtLimit=stop\n")
            ])
            try service.wait(for: "loop") { $0.state == .failed }
            #expect(try service.app("loop").restarts == 2)
            #expect(service.program.hasEnded == false)
            #expect(try service.command("launch", "--no-wait", "loop").code == 0)
            try service.wait(for: "loop") { $0.restarts == 4 && $0.state == .failed }
            let status = try service.command("status", "loop")
            #expect(status.output.contains("failed since"))
            #expect(status.output.contains("Relaunch: watchdogd launch loop\n"))
            #expect(status.output.contains("Limit: 2 restarts within 10 min, the limit of [Restart] Limit="))
            #expect(try service.end() == 0)
            let told = "failed too often (exit): 2 restarts within 10 min, the limit of [Restart] Limit=; it stays"
            #expect(service.program.text(.errors).contains(told), "\(service.program.text(.errors))")
        }

        @Test("A silent app is not awaited, and a later exit is not a failed launch")
        func silent() throws {
            let restart = "[Restart]\nLimit=1\nDelay=1min\n"
            let service = try Service([
                "plain": "[App]\nEnabled=no\nExecStart=/bin/sleep 1000\n",
                "late": "[App]\nExecStart=/bin/sh -c 'sleep 5; kill -SEGV $$$$'\n\(restart)",
                "early": "[App]\nExecStart=/bin/sh -c 'kill -SEGV $$$$'\n\(restart)",
            ])
            let start = Instant.now()
            #expect(try service.command("launch", "plain").code == 0)
            let wait = Instant.now() - start
            print("launch of a silent app: \(wait)")
            #expect(wait >= .seconds(2) && wait < .seconds(10))
            for (name, cause) in [("late", "crash"), ("early", "launch")] {
                try service.wait(for: name) { $0.restarts >= 1 || $0.state == .waiting }
                let told = try #require(try service.client.describe(DescribeRequest(name)).details).restartsByCause
                #expect(Array(told.keys) == [cause], "\(name): \(told)")
            }
            #expect(try service.end() == 0)
        }

        @Test("An app killed from outside runs again, as a new process")
        func killed() throws {
            let service = try Service(["a": Self.sleeper])
            let first = try #require(try service.wait(for: "a") { $0.state == .running }.pid)
            // The pipe that signals execve(2) is closed a moment before the new program's environment is in place.
            #expect(eventually { service.processes.contains(first) })
            kill(first, SIGKILL)
            let second = try service.wait(for: "a") { $0.state == .running && $0.pid != first }
            #expect(second.restarts == 1)
            #expect(second.lastIncident?.kind == .crash)
            #expect(try service.end() == 0)
        }

        @Test("An app that hangs is killed, reported and restarted")
        func hang() throws {
            let scratch = try Scratch()
            // It hangs before watchdogd, which it has stopped, learns that it is ready, so the allowance ends nothing
            // but the hang. Its next launch does not hang.
            let script =
                "test -e hung && exec sleep 1000; touch hung; until test -e go; do sleep 0.01; done; kill -STOP $$PPID; "
                + "exec \"$0\" --how sleep --after 0"
            let hang =
                "[App]\nExecStart=/bin/sh -c '\(script)' \(quoted(product("HangMain")))\n"
                + "WorkingDirectory=\(scratch.path)\nStandardOutput=inherit\n"
                + "\(unhurriedSettings)Update=500ms\nPing=50ms\n"
            let service = try Service(["hang": hang], scratch: scratch)
            try service.wait(for: "hang") { $0.pid != nil }
            try scratch.write("", to: "go")
            try service.program.line("HangMain: ready")
            #expect(eventually { service.processes.contains { isStuck($0, in: [35, 230]) } })
            try service.program.send(SIGCONT)
            let app = try service.wait(for: "hang") { $0.restarts >= 1 && $0.lastIncident?.report != nil }
            #expect(app.lastIncident?.event == "scene-update")
            #expect(app.lastIncident?.verdict?.contains("blocked") == true)
            let reports = try service.client.reports(ReportsRequest(app: "hang", limit: 5))
            #expect(reports.reports.contains { $0.path == app.lastIncident?.report })
            #expect(try service.client.describe(DescribeRequest("hang")).details?.restartsByCause["hang"] ?? 0 >= 1)
            #expect(try service.end() == 0)
        }

        @Test("Commands before the program run in order, and a failure prevents the launch")
        func preparations() throws {
            let scratch = try Scratch()
            let file = scratch["order"]
            let steps =
                "ExecStartPre=/bin/sh -c 'echo one >> \(file)'\nExecStartPre=-/bin/false\n"
                + "ExecStartPre=/bin/sh -c 'echo two >> \(file)'\n"
            let service = try Service([
                "ok": "[App]\n\(steps)ExecStart=/bin/sleep 1000\n\(unhurriedSettings)Readiness=none\n",
                "no": "[App]\nExecStartPre=/bin/true\nExecStartPre=/bin/sh -c 'exit 5'\n"
                    + "ExecStart=/bin/sh -c 'echo three >> \(file)'\n\(unhurriedSettings)[Restart]\nPolicy=never\n",
                "slow": "[App]\nExecStartPre=/bin/sleep 1000\nExecStart=/bin/true\n[Watchdog]\nLaunch=300ms\n"
                    + "[Restart]\nPolicy=never\n",
            ])
            try service.wait(for: "ok") { $0.state == .running }
            let failed = try service.wait(for: "no") { $0.lastIncident != nil }
            let failure = "ExecStartPre (2 of 2): /bin/sh exited with code 5"
            #expect(failed.lastIncident?.summary.contains(failure) == true, "\(String(describing: failed))")
            let slow = try service.wait(for: "slow") { $0.lastIncident != nil }
            let late = "ExecStartPre: /bin/sleep did not end within 300 ms, and was killed"
            #expect(slow.lastIncident?.summary.contains(late) == true, "\(String(describing: slow))")
            #expect(try service.end() == 0)
            #expect(scratch.read("order") == "one\ntwo\n")
        }

        @Test("The environment is the app's own: its files take precedence, and it has nothing of the daemon's sockets")
        func environment() throws {
            let scratch = try Scratch()
            let file = try scratch.write("A=file\nB=\"two words\"\n", to: "vars")
            let app = """
                [App]
                Environment=A=line C=${B}
                EnvironmentFile=\(file)
                WorkingDirectory=\(scratch.path)
                UMask=0027
                LimitNOFILE=77
                ExecStart=/bin/sh -c 'echo "$$A|$$C|$$(pwd)|$$(umask)|$$(ulimit -n)|$0|$1" > out; sleep 1000' ${B} $B
                \(unhurriedSettings)
                Readiness=none
                """
            let service = try Service(["env": app])
            #expect(eventually { scratch.read("out")?.hasSuffix("\n") == true })
            #expect(scratch.read("out") == "file|${B}|\(scratch.path)|0027|77|two words|two\n")
            #expect(try service.end() == 0)
        }

        @Test(
            "Wrong or foreign variables about passed descriptors do no harm",
            arguments: [
                ("LISTEN_PID=$$ LISTEN_FDS=0", false), ("LISTEN_PID=1 LISTEN_FDS=x", false),
                ("LISTEN_PID=$$ LISTEN_FDS=x", true), ("LISTEN_PID=$$ LISTEN_FDS=-1", true),
                ("LISTEN_PID=$$ LISTEN_FDS=0 LISTEN_FDNAMES=a:b", false), ("LISTEN_PID=x LISTEN_FDS=1", true),
            ])
        func passedDescriptors(variables: String, isTold: Bool) throws {
            let service = try Service(
                ["app": Self.shell("exec sleep 1000")], wrapper: ["/bin/sh", "-c", "\(variables) exec \"$@\"", "sh"])
            try service.wait(for: "app") { $0.state == .running }
            #expect(try service.end() == 0)
            #expect(service.program.text(.errors).contains("LISTEN_FDS and LISTEN_FDNAMES are ignored") == isTold)
        }

        @Test("SIGTERM terminates each app within its own allowance; one that does not exit is killed and reported")
        func stop() throws {
            let service = try Service([
                "quick": Self.sleeper,
                "slow": Self.shell("trap \"sleep 0.3; exit 0\" TERM; echo slow; while :; do sleep 0.05; done"),
                "deaf": Self.shell("trap \"\" TERM; echo deaf; while :; do sleep 0.05; done", "Terminate=400ms\n"),
            ])
            for name in ["quick", "slow", "deaf"] { try service.wait(for: name) { $0.state == .running } }
            // Each reports when its trap is set, in either order.
            let haveSpoken = try eventually {
                _ = try service.program.lives(for: .milliseconds(10))
                let lines = service.program.text(.output).split(separator: "\n")
                return lines.contains("slow") && lines.contains("deaf")
            }
            try #require(haveSpoken)
            #expect(try service.end() == 0)
            let reports = names(in: service.scratch["reports"])
            #expect(reports.count == 1)
            #expect(reports.first?.hasPrefix("deaf-") == true)
        }

        @Test("A second SIGTERM kills the remaining apps")
        func stopTwice() throws {
            let service = try Service([
                "deaf": Self.shell("trap \"\" TERM; echo deaf; while :; do sleep 0.05; done", "Terminate=1h\n")
            ])
            try service.program.line("deaf")
            try service.program.send(SIGTERM)
            try service.wait(for: "deaf") { $0.state == .terminating }
            #expect(try service.end() == 0)
        }
    }
}
