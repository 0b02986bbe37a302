// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogRendering
import WatchdogReport

extension EndToEnd {
    @Suite("watchdogd serve, under commands")
    struct ServeControlTests {
        private static let sleeper = "[App]\nExecStart=/bin/sleep 1000\n\(unhurriedSettings)Readiness=none\n"

        @Test("launch, terminate and restart report what they find")
        func actions() throws {
            let service = try Service(["a": Self.sleeper])
            let pid = try service.wait(for: "a") { $0.state == .running }.pid
            let again = try service.command("launch", "a")
            #expect(again.code == 0)
            #expect(again.output == "a is already running (pid \(pid ?? 0))\n")
            #expect(again.errors == "")
            #expect(try service.command("terminate", "a").code == 0)
            #expect(service.processes == [])
            let twice = try service.command("terminate", "a")
            #expect(twice.code == 0)
            #expect(twice.output == "a is not running\n")
            #expect(twice.errors == "")
            #expect(try service.command("restart", "a").code == 0)
            #expect(try service.app("a").state == .running)
            #expect(try service.command("restart", "a").code == 0)
            #expect(try service.client.describe(DescribeRequest("a")).details?.restartsByCause == ["request": 1])
            #expect(try service.end() == 0)
        }

        @Test("Another user sees names and states, and why there is no more", .enabled(if: isRoot))
        func stranger() throws {
            let service = try Service(["secretive": Self.sleeper], isSystem: true)
            try service.wait(for: "secretive") { $0.state == .running }
            chmod(service.scratch.path, 0o711)
            // Like the machine's own socket.
            chmod(service.scratch["control"], 0o666)
            func seen(_ arguments: String...) throws -> (code: Int32?, output: String) {
                let program = try Program(
                    ["setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", product("watchdogd")] + arguments
                        + ["--control", service.scratch["control"]])
                let code = try program.end().code
                return (code, program.text(.output) + program.text(.errors))
            }
            let list = try seen("list")
            #expect(list.code == 0 && list.output.contains("secretive  running"))
            #expect(list.output.hasSuffix("of this watchdogd see more than names and states.\n"))
            let status = try seen("status", "secretive")
            #expect(status.code == 0 && status.output.contains("State: running"))
            #expect(status.output.contains("Details: shown only to root"))
            for output in [list.output, status.output] {
                #expect(!output.contains("PID") && !output.contains(service.scratch.path))
            }
            #expect(try seen("logs", "secretive").code == 77)
            #expect(try seen("terminate", "secretive").code == 77)
            #expect(try service.end() == 0)
        }

        @Test("A wrong name gets the nearest one")
        func wrongName() throws {
            let service = try Service(["photos": Self.sleeper])
            for command in ["status", "events"] {
                let answer = try service.command(command, "photo")
                #expect(answer.code == 66)
                #expect(answer.errors == "watchdogd: there is no app \"photo\"; did you mean \"photos\"?\n")
            }
            #expect(try service.end() == 0)
        }

        @Test("Commands act on several apps and on patterns, and one failure does not stop the others")
        func several() throws {
            let service = try Service(["web1": Self.sleeper, "web2": Self.sleeper, "db": Self.sleeper])
            for name in ["web1", "web2", "db"] { try service.wait(for: name) { $0.state == .running } }
            #expect(try service.command("terminate", "web*").code == 0)
            #expect(try ["web1", "web2", "db"].map { try service.app($0).state } == [.stopped, .stopped, .running])
            let mixed = try service.command("launch", "nosuch", "web2", "db")
            #expect(mixed.code == 66)
            #expect(mixed.errors.hasPrefix("watchdogd: there is no app \"nosuch\""), "\(mixed.errors)")
            #expect(mixed.output.hasPrefix("db is already running (pid "), "\(mixed.output)")
            #expect(try service.app("web2").state == .running)
            let none = try service.command("restart", "x*")
            #expect(none.code == 66)
            #expect(none.errors == "watchdogd: no app matches 'x*'; 'watchdogd list' shows them\n")
            #expect(try service.end() == 0)
        }

        @Test("Commands that show or reload apps accept several of them, and patterns")
        func severalShown() throws {
            let file = "[App]\nExecStart=/bin/sh -c 'echo hello; exec sleep 1000'\nStandardOutput=append:"
            let scratch = try Scratch()
            let service = try Service([
                "web1": "\(file)\(scratch["1"])\n\(unhurriedSettings)Readiness=none\n",
                "web2": "\(file)\(scratch["2"])\n\(unhurriedSettings)Readiness=none\n", "db": Self.sleeper,
            ])
            for name in ["web1", "web2", "db"] { try service.wait(for: name) { $0.state == .running } }
            for file in ["1", "2"] { #expect(eventually { scratch.read(file) == "hello\n" }) }
            #expect(try service.command("logs", "web*").output == "web1:\nhello\nweb2:\nhello\n")
            let list = try service.command("list", "web*")
            #expect(list.output.contains("web1") && list.output.contains("\n2 apps: ") && !list.output.contains("db"))
            let unknown = try service.command("list", "wbe1")
            #expect(unknown.code == 66)
            #expect(unknown.errors == "watchdogd: there is no app wbe1; did you mean web1?\n")
            let captures = try service.command("capture", "web?", "db").output.split(separator: "\n")
            #expect(["web1-", "web2-", "db-"].allSatisfy { name in captures.count { $0.contains("/\(name)") } == 1 })
            let status = try service.command("status", "web*", "nosuch", "db")
            #expect(status.code == 66)
            let heads = status.output.split(separator: "\n").filter { ["web1", "web2", "db"].contains($0) }
            #expect(heads == ["web1", "web2", "db"], "\(status.output)")
            let events = try service.command("events", "--no-follow", "--lines", "100", "web*")
            #expect(events.output.contains("web1") && events.output.contains("web2") && !events.output.contains("db"))
            let follower = try Program(
                [product("watchdogd"), "logs", "--follow", "web*", "--control", service.scratch["control"]])
            let first = try (0..<2).map { _ in try follower.line(": hello") }
            #expect(first.sorted() == ["web1: hello", "web2: hello"])
            let log = try OwnedDescriptor(opening: scratch["2"], flags: O_WRONLY | O_APPEND)
            #expect(write(log.number, "again\n", 6) == 6)
            try follower.line("web2: again")
            try follower.send(SIGTERM)
            try follower.end()
            for command in ["status", "logs", "events", "reload", "list", "capture", "ping"] {
                let none = try service.command(command, "x*")
                #expect(none.code == 66)
                #expect(none.errors == "watchdogd: no app matches 'x*'; 'watchdogd list' shows them\n")
            }
            #expect(try service.end() == 0)
        }

        @Test("--json answers with an object, whatever the outcome")
        func json() throws {
            let service = try Service(["photos": Self.sleeper])
            let pid = try service.wait(for: "photos") { $0.state == .running }.pid ?? 0
            let running = try service.command("launch", "--json", "photos")
            #expect(running.code == 0)
            let name = "org.watchdogd.Supervisor"
            #expect(
                running.output
                    == "{\"error\":\"\(name).AlreadyRunning\",\"message\":\"photos is already running (pid \(pid))\","
                    + "\"parameters\":{\"name\":\"photos\",\"pid\":\(pid)}}\n")
            #expect(running.errors == "")
            for command in ["status", "logs", "events", "reload", "suspend", "capture"] {
                let wrong = try service.command(command, "--json", "photo")
                #expect(wrong.code == 66)
                #expect(wrong.output.contains("\"parameters\":{\"name\":\"photo\",\"suggestion\":\"photos\"}"))
            }
            #expect(try service.command("terminate", "--json", "photos").output == "{\n  \"isGone\" : true\n}\n")
            #expect(try service.command("launch", "--json", "photos").output.hasPrefix("{\n  \"pid\" : "))
            try service.write("[App]\nExecStrat=x\n", to: "photos")
            let reload = try service.command("reload", "--json")
            #expect(reload.code == 65)
            #expect(reload.output.contains("\"error\":\"\(name).InvalidConfiguration\""))
            #expect(reload.output.contains("\"suggestion\":\"ExecStart\""))
            #expect(try service.end() == 0)
        }

        @Test("launch waits for readiness, and reports why an app did not become ready")
        func waits() throws {
            let service = try Service([
                "no": "[App]\nEnabled=no\nExecStart=/nonexistent/program\n[Restart]\nPolicy=never\n",
                "dies": "[App]\nEnabled=no\nExecStart=/bin/sh -c 'exit 4'\n\(unhurriedSettings)Readiness=notify\n"
                    + "[Restart]\nPolicy=never\n",
                "job": "[App]\nEnabled=no\nExecStart=/bin/sh -c 'exit 0'\n\(unhurriedSettings)Readiness=notify\n",
                "late":
                    "[App]\nEnabled=no\nExecStart=/usr/bin/python3 -c 'from wd import *; notify(\"READY=1\"); hang()'\n"
                    + "Environment=\(quoted("PYTHONPATH=\(subjects)"))\n\(unhurriedSettings)Readiness=notify\n",
            ])
            let missing = try service.command("launch", "no")
            #expect(missing.code == 1)
            #expect(
                missing.errors == "watchdogd: no was not launched: /nonexistent/program: no such file\n")
            let dead = try service.command("launch", "dies")
            #expect(dead.code == 1)
            #expect(dead.errors == "watchdogd: dies was not launched: exited with code 4\n")
            let done = try service.command("launch", "job")
            #expect(done.code == 0, "\(done.errors)")
            #expect(done.output == "job has done its work: exited with code 0\n")
            let late = try service.command("launch", "late")
            #expect(late.code == 0, "\(late.errors)")
            #expect(try service.app("late").state == .running)
            #expect(try service.end() == 0)
        }

        @Test("capture writes a report of an app that keeps running")
        func capture() throws {
            let service = try Service(["a": Self.sleeper])
            let pid = try service.wait(for: "a") { $0.state == .running }.pid
            let answer = try service.command("capture", "a")
            #expect(answer.code == 0)
            let path = answer.output.split(separator: "\n").first.map(String.init) ?? ""
            let report = try ReportCoding.decode(try #require(contents(of: path)))
            #expect(report.body.pid == Int(pid ?? 0))
            #expect(!report.body.threads.isEmpty)
            #expect(report.metadata.linux?.event == "capture")
            #expect(report.body.termination == nil)
            #expect(Explanation(of: report).blame == nil)
            #expect(try service.app("a").pid == pid)
            #expect(try service.app("a").state == .running)
            #expect(try service.command("capture", "b").code == 66)
            #expect(try service.end() == 0)
        }

        @Test("logs shows an app's output in its file, and follows it; discarded output is reported")
        func logs() throws {
            let scratch = try Scratch()
            let service = try Service([
                "a": "[App]\nExecStart=/bin/sh -c 'echo one; echo two; exec sleep 1000'\n"
                    + "StandardOutput=append:\(scratch["a.log"])\n\(unhurriedSettings)Readiness=none\n",
                "b": Self.sleeper + "[App]\nStandardOutput=null\n",
            ])
            #expect(eventually { scratch.read("a.log") == "one\ntwo\n" })
            #expect(try service.command("logs", "a").output == "one\ntwo\n")
            #expect(try service.command("logs", "-l", "1", "a").output == "two\n")
            #expect(try service.command("logs", "--json", "a").output == "{\"text\":\"one\"}\n{\"text\":\"two\"}\n")
            let untimed = try service.command("logs", "--since", "1h", "a")
            #expect(untimed.code == 64 && untimed.output.isEmpty)
            #expect(
                untimed.errors.contains(
                    "the output of a is in \(scratch["a.log"]), whose lines have no time; use --lines N"))
            let follower = try Program(
                [product("watchdogd"), "logs", "--follow", "a", "--control", service.scratch["control"]])
            try follower.line("two")
            let file = try OwnedDescriptor(opening: scratch["a.log"], flags: O_WRONLY | O_APPEND)
            #expect(write(file.number, "three\n", 6) == 6)
            try follower.line("three")
            try follower.send(SIGTERM)
            try follower.end()
            let nowhere = try service.command("logs", "--follow", "b")
            #expect(nowhere.code == 69)
            #expect(
                nowhere.errors.contains(
                    "b writes to null, which cannot be read back; set StandardOutput= in the app's file"))
            #expect(try service.end() == 0)
        }

        @Test("logs --follow makes journalctl name the zone of each time")
        func followedJournal() throws {
            let scratch = try Scratch()
            try scratch.write("#!/bin/sh\nprintf '%s\\n' \"$@\"\n", to: "journalctl", mode: 0o755)
            let service = try Service(["a": Self.sleeper], scratch: scratch)
            var environment = testEnvironment()
            environment["PATH"] = "\(scratch.path):\(environment["PATH"] ?? "")"
            let follower = try Program(
                [product("watchdogd"), "logs", "--follow", "-n", "7", "a", "--control", scratch["control"]],
                environment: environment)
            #expect(try follower.end().code == 0)
            #expect(
                follower.text(.output).split(separator: "\n")
                    == ["--follow", "--output=short-full", "--identifier=a", "--lines=7"])
            #expect(try service.end() == 0)
        }

        @Test("events lists events, and --json prints one object per line")
        func events() throws {
            let service = try Service(["a": Self.sleeper])
            try service.wait(for: "a") { $0.state == .running }
            let watcher = try Program(
                [product("watchdogd"), "events", "--json", "--control", service.scratch["control"], "-l", "1", "a"])
            #expect(try watcher.line().hasPrefix("{\"event\":{"), "no empty object")
            #expect(try service.command("restart", "a").code == 0)
            for kind in ["terminating", "exited", "launched", "ready"] { try watcher.line("\"kind\":\"\(kind)\"") }
            try watcher.send(SIGINT)
            try watcher.end()
            #expect(try service.end() == 0)
        }

        @Test("events shows past events and exits, unless it follows; --since omits older ones")
        func pastEvents() throws {
            let service = try Service(["a": Self.sleeper])
            try service.wait(for: "a") { $0.state == .running }
            let past = try service.command("events", "--no-follow", "--since", "1h", "a")
            #expect(past.code == 0)
            #expect(past.output.contains(" a["))
            #expect(past.output.contains("launched"))
            let none = try service.command("events", "--no-follow", "--since", "1ms", "a")
            #expect(none.code == 0)
            #expect(none.output.isEmpty)
            let wrong = try service.command("events", "--since", "yesterday-ish")
            #expect(wrong.code == 64)
            #expect(wrong.errors.contains("use a span (2h), a day"))
            #expect(try service.end() == 0)
        }

        @Test("A second daemon at the same socket is rejected, and the first continues")
        func second() throws {
            let service = try Service(["a": Self.sleeper])
            let other = try Program([
                product("watchdogd"), "serve", "--user", "--config", service.scratch["apps"], "--control",
                service.scratch["control"], "--reports", service.scratch["reports"],
            ])
            #expect(try other.end().code == 69)
            #expect(other.text(.errors).contains("another watchdogd serves \(service.scratch["control"])"))
            try service.wait(for: "a") { $0.state == .running }
            #expect(try service.end() == 0)
        }

        @Test("Without a daemon, commands report that and how to start one")
        func noDaemon() throws {
            let scratch = try Scratch()
            let program = try Program([product("watchdogd"), "list", "--control", scratch["control"]])
            #expect(try program.end().code == 69)
            #expect(
                program.text(.errors)
                    == "watchdogd: watchdogd is not running: no socket at \(scratch["control"])\n")
        }

        @Test("--user without a runtime directory is an error, and never means the machine's daemon")
        func noRuntimeDirectory() throws {
            var environment = testEnvironment()
            environment["XDG_RUNTIME_DIR"] = nil
            let program = try Program([product("watchdogd"), "list", "--user"], environment: environment)
            #expect(try program.end().code == 69)
            #expect(
                program.text(.errors)
                    == "watchdogd: XDG_RUNTIME_DIR is not set, so there is no place for the control socket; "
                    + "log in to a session, or set a path with --control\n")
        }

        @Test("A configured directory that is missing is an error, and so are contradictions")
        func badInput() throws {
            let scratch = try Scratch()
            let missing = try Program([
                product("watchdogd"), "serve", "--config", scratch["none"], "--control", scratch["c"], "--reports",
                scratch["r"],
            ])
            #expect(try missing.end().code == 66)
            #expect(missing.text(.errors).contains("\(scratch["none"]): No such file or directory (ENOENT)"))
            let both = try Program([product("watchdogd"), "serve", "--system", "--user"])
            #expect(try both.end().code == 64)
            let lines = try Program([product("watchdogd"), "status", "a", "-l", "-1"])
            #expect(try lines.end().code == 64)
        }

        @Test("64 clients that flood, hang and send garbage delay neither each other nor a deadline")
        func hammering() throws {
            let hang =
                "[App]\nExecStart=\(quoted(product("HangMain"))) --how sleep --after 1\n"
                + "[Watchdog]\nUpdate=500ms\nPing=50ms\n"
            let service = try Service(["a": Self.sleeper, "hang": hang])
            try service.wait(for: "hang") { $0.state == .running }
            let hammer = try Program(
                python(
                    """
                    import socket, sys, os
                    path = sys.argv[1]
                    def connect():
                        s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(path); return s
                    silent = [connect() for _ in range(16)]
                    call = b'{"method":"org.watchdogd.Supervisor.List"}\\0'
                    unread = [connect() for _ in range(16)]
                    for s in unread:
                        s.sendall(call * 64)
                    answered = 0
                    for round in range(40):
                        talkers = [connect() for _ in range(16)]
                        for index, s in enumerate(talkers):
                            s.sendall(os.urandom(200) + b'\\0' if index % 4 == 0 else call)
                        for index, s in enumerate(talkers):
                            try:
                                data = s.recv(65536)
                            except ConnectionResetError:
                                data = b''
                            if index % 4 and b'"apps"' in data: answered += 1
                            s.close()
                    print('answered', answered)
                    """, service.scratch["control"]))
            let app = try service.wait(for: "hang") { $0.restarts >= 1 && $0.lastIncident != nil }
            #expect(app.lastIncident?.event == "scene-update")
            #expect(try hammer.line("answered") == "answered \(40 * 12)")
            #expect(try service.end() == 0)
        }

        @Test("Pipelined launches that wait on one connection all begin before the first is answered")
        func pipelined() throws {
            let count = 50
            let names = (0..<count).map { "app\($0)" }
            let scratch = try Scratch()
            try #require(mkfifo(scratch["gate"], 0o600) == 0)
            // Ready when the gate is opened.
            try scratch.write(
                "from wd import *\nopen(sys.argv[1]).close()\nnotify('READY=1')\nsignal.pause()\n", to: "app.py")
            let file =
                "[App]\nEnabled=no\nExecStart=/usr/bin/python3 \(scratch["app.py"]) \(scratch["gate"])\n"
                + "\(unhurriedSettings)Readiness=notify\n"
            let service = try Service(Dictionary(uniqueKeysWithValues: names.map { ($0, file) }))
            let caller = try Program(
                python(
                    """
                    import json
                    with socket.socket(socket.AF_UNIX) as caller:
                        caller.connect(sys.argv[1])
                        call = {"method": "org.watchdogd.Supervisor.Launch"}
                        for name in sys.argv[2].split():
                            call["parameters"] = {"name": name, "wait": True}
                            caller.sendall(json.dumps(call).encode() + b"\\0")
                        print("sent")
                        replies = b""
                        while replies.count(b"\\0") < len(sys.argv[2].split()):
                            replies += caller.recv(65536)
                        print(*[json.loads(reply)["parameters"]["pid"] for reply in replies.split(b"\\0")[:-1]])
                    """, service.scratch["control"], names.joined(separator: " ")))
            try caller.line("sent")
            let areLaunched = try eventually {
                try service.client.list().apps.count { $0.state == .launching && $0.pid != nil } == count
            }
            #expect(areLaunched)
            #expect(caller.text(.output) == "sent\n")
            let gate = try OwnedDescriptor(opening: scratch["gate"], flags: O_WRONLY)
            #expect(try caller.end() == .exited(code: 0), "\(caller.text(.errors))")
            withExtendedLifetime(gate) {}
            let apps = try service.client.list().apps
            let pids = names.map { name in apps.first { $0.name == name }?.pid.map { "\($0)" } ?? "none" }
            #expect(caller.text(.output) == "sent\n\(pids.joined(separator: " "))\n")
            var kinds: [ControlEvent.Kind] = []
            try service.client.monitor(MonitorRequest(history: 4 * count, follows: false)) { reply in
                if let kind = reply.event?.kind, [.launched, .ready].contains(kind) { kinds.append(kind) }
                return true
            }
            #expect(kinds.count == 2 * count)
            #expect(kinds.prefix(count).allSatisfy { $0 == .launched }, "\(kinds)")
            #expect(try service.end() == 0)
        }

        @Test(
            "With few descriptors, some apps are not launched, with the reason; the daemon and the others keep running")
        func descriptors() throws {
            var apps: [String: String] = [:]
            for index in 0..<32 { apps["app\(index)"] = Self.sleeper }
            let service = try Service(apps, wrapper: ["/usr/bin/prlimit", "--nofile=130:130"])
            var failed: AppSummary?
            #expect(
                try eventually {
                    let apps = try service.client.list().apps
                    failed = apps.first { $0.state == .waiting }
                    return failed != nil && apps.contains { $0.state == .running }
                })
            #expect(failed?.lastIncident?.summary.contains("too few of 130 file descriptors are left") == true)
            #expect(try service.end() == 0)
        }
    }
}
