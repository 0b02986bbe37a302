// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    /// Behavior that no other test shows independently of the machine's speed.
    @Suite("The promises of the README, on a machine of any speed")
    struct SmokeTests {
        /// System calls in which a program sleeps: nanosleep, clock_nanosleep, select and pselect6.
        private static let sleeping: Set = [35, 230, 23, 270]
        private static let futex: Set = [202]
        private static let reading: Set = [0]

        private static let clients =
            subjects.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Clients"

        private let scratch: Scratch

        init() throws { scratch = try Scratch() }

        // MARK: - Tools

        /// Runs a program that hangs before watchdogd learns that it is ready, because watchdogd is stopped until then.
        ///
        /// A short allowance therefore ends nothing but the hang.
        ///
        /// - Parameters:
        ///   - line: the program's output before it hangs.
        ///   - calls: the system calls in which it may hang.
        private func hang(
            _ options: [String], _ command: [String], saying line: String = "hangs", in calls: Set<Int> = Self.sleeping,
            environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> Ending {
            let script = #"until test -e go; do sleep 0.01; done; kill -STOP "$PPID"; exec "$@""#
            let run = try Supervision(
                unhurried(options + ["--verbose"]), shell(script) + command, environment: environment, scratch: scratch)
            try run.line("launched, pid ", on: .errors)
            try scratch.write("", to: "go")
            try run.line(line)
            let isHung = eventually { run.processes.contains { isStuck($0, in: calls) } }
            #expect(isHung, sourceLocation: sourceLocation)
            try run.send(SIGCONT)
            let ending = try run.end(sourceLocation: sourceLocation)
            #expect(ending.exitCode == 137, "\(ending.errors)", sourceLocation: sourceLocation)
            #expect(ending.summary?.termination == "watchdog", sourceLocation: sourceLocation)
            #expect(ending.summary?.isDeathVerified == true, sourceLocation: sourceLocation)
            #expect(
                ending.summary?.incidents.map(\.event) == ["scene-update"], "\(ending.errors)",
                sourceLocation: sourceLocation)
            let report = try #require(ending.reports.first, sourceLocation: sourceLocation)
            #expect(report.body.linux?.verdict.kind == .blocked, sourceLocation: sourceLocation)
            expectPatience(report, sourceLocation: sourceLocation)
            return ending
        }

        private func watchdogd(
            _ arguments: [String], environment: Environment = testEnvironment()
        ) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program(
                [product("watchdogd")] + arguments, environment: environment, directory: scratch.path)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        private func compile(_ arguments: [String], to name: String) throws -> String {
            let compiler = try Program(["cc", "-std=gnu17", "-O1", "-g", "-pthread", "-o", scratch[name]] + arguments)
            let status = try compiler.end()
            try #require(status == .exited(code: 0), "\(compiler.text(.errors))")
            return scratch[name]
        }

        /// Expects functions of the main thread, innermost first, possibly with others in between.
        private func expectFrames(
            _ functions: [String], in report: Report?, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let body = try #require(report?.body, sourceLocation: sourceLocation)
            let names = body.threads[body.faultingThread].frames.compactMap(\.symbol)
            var rest = names[...]
            for function in functions {
                let index = rest.firstIndex { $0.contains(function) }
                #expect(
                    index != nil, "\(function) is missing or out of order in \(names)", sourceLocation: sourceLocation)
                if let index { rest = rest[(index + 1)...] }
            }
        }

        // MARK: - An unresponsive main loop

        @Test(
            "A main loop that hangs is killed, and its crash log shows how it got there",
            arguments: HangTests.hangs.filter { ["semaphore", "deadlock"].contains($0.how) })
        func mainLoop(hang: Hang) throws {
            let ending = try self.hang(
                ["--name", "HangMain", "--update", "500ms", "--ping", "50ms"],
                [product("HangMain"), "--how", hang.how, "--after", "0"], saying: "HangMain: ready", in: Self.futex)
            #expect(ending.summary?.launch?.source == "channel")
            #expect(ending.errors.contains { $0.contains("] killed: did not answer within ") })
            try expectFrames(hang.functions, in: ending.reports.first)
            if let thread = hang.thread {
                #expect(ending.reports.first?.body.threads.contains { $0.name == thread } == true)
            }
            let shown = try watchdogd(["report", "show", "--reports", scratch["reports"]])
            #expect(shown.code == 0)
            #expect(shown.output.contains("\nThread 0 Crashed:\n"))
            for function in hang.functions { #expect(shown.output.contains(function)) }
        }

        @Test("A program that stops sending WATCHDOG=1 is killed")
        func heartbeat() throws {
            let ending = try hang(
                ["--update", "500ms"],
                python(#"notify("READY=1", "STATUS=stuck"); push(5, 0.01); say("hangs"); hang()"#))
            #expect(ending.summary?.launch?.source == "notify")
            #expect(ending.reports.first?.body.linux?.status == "stuck")
        }

        // MARK: - A server that no longer serves

        /// Serves at the port of its first argument until there is a file "broken".
        ///
        /// Then it closes its socket, or answers that it is not available.
        private static let server = python(
            """
            import http.server, socketserver
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(503 if os.path.exists("broken") else 200)
                    self.end_headers()
                def log_message(self, *_): pass
            class Server(socketserver.TCPServer):
                def server_bind(self):
                    self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                    super().server_bind()
            server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
            server.timeout = 0.02
            say(server.server_address[1])
            while sys.argv[2] != "tcp" or not os.path.exists("broken"):
                server.handle_request()
            server.server_close()
            hang()
            """)

        /// Reserves a loopback port without listening; a server shares it with SO_REUSEPORT.
        private func reservePort() throws -> (holder: Program, port: String) {
            let holder = try Program(
                python(
                    """
                    holder = socket.socket()
                    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                    holder.bind(("127.0.0.1", 0))
                    say(holder.getsockname()[1])
                    hang()
                    """))
            return (holder, try holder.line())
        }

        @Test("A running server that breaks fails each kind of probe", arguments: ["tcp", "http", "exec"])
        func brokenServer(kind: String) throws {
            let (holder, port) = try reservePort()
            let target =
                switch kind {
                case "tcp": "tcp:127.0.0.1:\(port)"
                case "http": "http://127.0.0.1:\(port)/health"
                default: "exec:test ! -e \(scratch["broken"])"
                }
            let run = try Supervision(
                unhurried(["--verbose", "--readiness", "probe", "--probe", target])
                    + ["--probe-interval", "50ms", "--probe-timeout", "1h"],
                Self.server + [port, kind], scratch: scratch)
            try run.line("ready after", on: .errors)
            try scratch.write("", to: "broken")
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.launch?.source == "probe")
            #expect(ending.summary?.incidents.map(\.event) == ["scene-update"])
            let missed = try #require(ending.reports.first?.body.linux?.missed)
            #expect(missed.kind == .probe && missed.target.hasPrefix(target.prefix(20)), "\(missed)")
            let words = " probes of \(target.prefix(20))"
            #expect(ending.errors.contains { $0.contains("] killed: ") && $0.contains(words) }, "\(ending.errors)")
            withExtendedLifetime(holder) {}
        }

        @Test("A stuck server does not answer a probe", arguments: ["tcp", "http"])
        func stuckServer(kind: String) throws {
            let (holder, port) = try reservePort()
            let server = python(
                """
                server = socket.socket()
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                server.bind(("127.0.0.1", int(sys.argv[1])))
                server.listen()
                notify("READY=1")
                say("hangs")
                hang()
                """)
            let target = kind == "tcp" ? "tcp:127.0.0.1:\(port)" : "http://127.0.0.1:\(port)/"
            let ending = try hang(
                ["--readiness", "notify", "--probe", target, "--probe-interval", "100ms", "--probe-timeout", "200ms"],
                server + [port])
            #expect(ending.reports.first?.body.linux?.missed?.kind == .probe)
            #expect(ending.errors.contains { $0.contains(": no answer") }, "\(ending.errors)")
            withExtendedLifetime(holder) {}
        }

        // MARK: - Quick start

        @Test("--enforce report reports a hang, and the program continues to its own exit")
        func reportOnly() throws {
            let run = try Supervision(
                unhurried(["--enforce", "report", "--update", "300ms"]),
                python(
                    """
                    notify("READY=1", "WATCHDOG=1")
                    while not os.path.exists("go"): time.sleep(0.02)
                    os._exit(6)
                    """), scratch: scratch)
            try run.line("] reported: did not answer within ", on: .errors)
            try scratch.write("", to: "go")
            let ending = try run.end()
            #expect(ending.exitCode == 6)
            #expect(ending.summary?.termination == "exited")
            #expect(ending.summary?.incidents.map(\.isEnforced) == [false])
            let report = try #require(ending.reports.first)
            #expect(ending.reports.count == 1)
            #expect(report.body.linux?.enforcement == "report")
            #expect(report.body.linux?.kill.outcome == "none")
        }

        @Test("A crash log can be explained, shown and opened, and is not readable by everybody")
        func crashLog() throws {
            let run = try Supervision(
                ["--quiet", "--readiness", "notify", "--launch", "300ms", "--name", "my-server"], ["sleep", "1000"],
                scratch: scratch)
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            let path = try #require(ending.reportPaths.first)
            for (path, mode) in [(scratch["reports"], 0o750), (path, 0o640)] as [(String, mode_t)] {
                var status = stat()
                #expect(stat(path, &status) == 0)
                #expect(status.st_mode & 0o777 == mode, "\(path): \(String(status.st_mode, radix: 8))")
            }
            let explained = try watchdogd(["report", "explain", "--reports", scratch["reports"]])
            #expect(explained.code == 0)
            #expect(explained.output.hasPrefix("my-server["), "\(explained)")
            #expect(explained.output.contains("What to do"))
            let shown = try watchdogd(["report", "show", "my-server", "--reports", scratch["reports"]])
            #expect(shown.code == 0)
            #expect(shown.output.hasPrefix("Incident Identifier: "))
            #expect(shown.output.contains("Thread 0 ") && shown.output.contains("Termination Reason:"))
            var environment = testEnvironment()
            environment["DISPLAY"] = nil
            environment["WAYLAND_DISPLAY"] = nil
            environment["TMPDIR"] = scratch.path
            let opened = try watchdogd(["report", "open", "--reports", scratch["reports"]], environment: environment)
            #expect(opened.code == 0)
            let page = try #require(opened.output.split(separator: "\n").first.map(String.init))
            #expect(page.hasPrefix("\(scratch.path)/watchdogd-report-"))
            #expect(contents(of: page)?.starts(with: "<!DOCTYPE html>".utf8) == true)
        }

        @Test("A service under another supervisor is observed: its fault is reported, and it keeps running")
        func observe() throws {
            let server = try Program(Self.server + ["0", "http"], directory: scratch.path)
            let url = "http://127.0.0.1:\(try server.line())/"
            let observer = try Program([
                product("watchdogd"), "observe", "\(server.pid)", "--probe", url, "--probe-interval", "50ms",
                "--probe-timeout", "1h", "--reports", scratch["reports"],
            ])
            try observer.line("observing python3, pid \(server.pid): probes \(url)", on: .errors)
            try scratch.write("", to: "broken")
            #expect(try observer.line("] reported: ", on: .errors).contains(" probes of \(url) failed"))
            try observer.line(".ips", on: .errors)
            let file = try #require(names(in: scratch["reports"]).first { $0.hasSuffix(".ips") })
            let report = try ReportCoding.decode(contents(of: scratch["reports/\(file)"]) ?? [])
            #expect(report.body.pid == Int(server.pid))
            #expect(report.body.linux?.kill.outcome == "none")
            #expect(!server.hasEnded)
            try server.send(SIGKILL)
            try observer.line("python3: process \(server.pid) has ended", on: .errors)
            #expect(try observer.end() == .exited(code: 0))
        }

        @Test("init writes a valid app file for a program, and never replaces one")
        func appFile() throws {
            let command = ["init", "--within", "60s", "--output", "my-server.app", "--", product("HealthyApp")]
            let answer = try watchdogd(command)
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(scratch.read("my-server.app")?.contains("\nReadiness=channel\n") == true)
            let checked = try watchdogd(["check", "my-server.app"])
            #expect(checked.code == 0, "\(checked)")
            #expect(try watchdogd(command).code == 73)
        }

        @Test("The daemon reloads its configuration, and leaves unchanged apps alone")
        func reload() throws {
            let app = "[App]\nExecStart=/bin/sleep 1000\n[Watchdog]\nTerminate=1h\nReadiness=none\n"
            let service = try Service(["same": app, "other": app, "gone": app])
            let same = try service.wait(for: "same") { $0.state == .running }.pid
            let other = try service.wait(for: "other") { $0.state == .running }.pid
            try service.write(app + "[App]\nEnvironment=A=1\n", to: "other")
            try service.write(app, to: "new")
            service.remove("gone")
            let answer = try service.command("reload")
            #expect(answer.code == 0, "\(answer.errors)")
            #expect(answer.output == "added: new\nchanged: other\nrestarting: other\nremoved: gone\nunchanged: 1\n")
            try service.wait(for: "new") { $0.state == .running }
            try service.wait(for: "other") { $0.state == .running && $0.pid != other }
            #expect(try service.app("same").pid == same)
            #expect(eventually { (try? service.client.list().apps.map(\.name)) == ["new", "other", "same"] })
            #expect(try service.end() == 0)
        }

        // MARK: - In your program

        /// Runs a program until it has answered pings, and asks it to exit.
        private func expectAnswers(
            _ command: [String], environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let run = try Supervision(
                unhurried(["--name", "client", "--ping", "20ms", "--control", scratch["control"]]), command,
                environment: environment, scratch: scratch)
            let answers = #"watchdogd_app_ping_duration_seconds_count{app="client"}"#
            let haveCome = try eventually {
                let metrics = try watchdogd(["metrics", "--control", scratch["control"]])
                return metrics.code == 0 && seriesValues(in: metrics.output)[answers] ?? 0 >= 3
            }
            #expect(haveCome, sourceLocation: sourceLocation)
            try run.send(SIGTERM)
            let ending = try run.end(sourceLocation: sourceLocation)
            #expect(ending.exitCode == 0, "\(ending.errors)", sourceLocation: sourceLocation)
            #expect(ending.summary?.termination == "terminated", sourceLocation: sourceLocation)
            #expect(ending.summary?.launch?.source == "channel", sourceLocation: sourceLocation)
            #expect(ending.summary?.pings.strayAnswers == 0, sourceLocation: sourceLocation)
            #expect(ending.summary?.incidents.isEmpty == true, sourceLocation: sourceLocation)
        }

        @Test("A program with the Swift library answers pings, and exits on request")
        func swiftLibrary() throws { try expectAnswers([product("HealthyApp")]) }

        @Test("A program with the C client answers pings, and exits on request")
        func cClient() throws {
            let folder = "\(Self.clients)/C"
            try expectAnswers([
                try compile(
                    ["-I", folder, "\(folder)/examples/service.c", "\(folder)/watchdog.c"], to: "service")
            ])
        }

        @Test("A program with the C client that hangs is killed, and its function is in the crash log")
        func cClientHangs() throws {
            let folder = "\(Self.clients)/C"
            let feed = try compile(["-I", folder, "\(subjects)/feed.c", "\(folder)/watchdog.c"], to: "feed")
            let ending = try hang(["--update", "500ms", "--ping", "50ms"], [feed], in: Self.reading)
            #expect(ending.summary?.launch?.source == "channel")
            try expectFrames(["load_feed", "main"], in: ending.reports.first)
        }

        private static let pythonPath = ["PYTHONPATH": "\(clients)/Python/src"]

        @Test("A program with the Python client answers pings, and exits on request")
        func pythonClient() throws {
            try expectAnswers(
                ["/usr/bin/python3", "\(Self.clients)/Python/examples/service.py"], environment: Self.pythonPath)
        }

        @Test("A program with the Python client that hangs is killed")
        func pythonClientHangs() throws {
            let source = """
                import time, watchdogd
                link = watchdogd.link()
                watchdogd.ready()
                print("hangs", flush=True)
                time.sleep(3600)
                """
            let ending = try hang(
                ["--update", "500ms", "--ping", "50ms"], ["/usr/bin/python3", "-c", source],
                environment: Self.pythonPath)
            #expect(ending.summary?.launch?.source == "channel")
        }

        // MARK: - Conditions and scripts

        @Test(
            "--expect exits with 0 for the expected result, and with 1 for any other",
            arguments: [
                ("ready", ["--readiness", "notify"], python(#"notify("READY=1"); hang()"#), 0),
                ("ready", [], shell("exit 0"), 1),
                ("exit:7", [], shell("exit 7"), 0),
                ("exit:7", [], shell("exit 8"), 1),
                ("0x8badf00d:process-launch", ["--readiness", "notify", "--launch", "300ms"], ["sleep", "1000"], 0),
                ("exit:137", ["--readiness", "notify", "--launch", "300ms"], ["sleep", "1000"], 1),
                (
                    "0x8badf00d:scene-update", ["--update", "300ms"],
                    python(#"notify("READY=1", "WATCHDOG=1"); hang()"#), 0
                ),
                (
                    "0x8badf00d:process-exit", ["--terminate", "300ms"],
                    python(#"notify("READY=1", "STOPPING=1"); hang()"#), 0
                ),
            ] as [(String, [String], [String], Int32)])
        func expectation(kind: String, options: [String], command: [String], code: Int32) throws {
            let ending = try supervise(unhurried(options + ["--expect", kind]), command)
            #expect(ending.exitCode == code, "\(ending.errors)")
            #expect(ending.summary?.expectation?.expected == kind)
            #expect(ending.summary?.expectation?.isMet == (code == 0))
            #expect(ending.messages.contains { $0.hasPrefix("watchdogd: expected \(kind), but ") } == (code == 1))
        }

        @Test("A script drives an app through its lifecycle")
        func lifecycle() throws {
            let script = try scratch.write(
                """
                launch
                wait ready within 1h
                event url http://x/ y
                suspend
                wait suspended within 1h
                foreground
                wait foreground within 1h
                expect alive
                """, to: "script")
            let ending = try Supervision(
                unhurried(["--script", script]), ["/usr/bin/python3", "\(subjects)/lifecycle_app.py"], scratch: scratch
            ).end()
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.output == "none\nevent url http://x/ y\n")
            #expect(ending.reports.isEmpty)
            #expect(ending.summary?.lifecycle?.resumes.count == 1)
            #expect(ending.summary?.lifecycle?.mistakes == 0)
        }

        // MARK: - Replays with other allowances

        private struct Simulation: Decodable {
            struct ComparedIncident: Decodable {
                let kind: String
            }

            let incidents: [ComparedIncident]
        }

        @Test("simulate shows the kill of a recorded run, and none with a longer allowance")
        func simulate() throws {
            let trace = scratch["trace.jsonl"]
            let ending = try hang(
                ["--name", "HangMain", "--trace", trace, "--ping", "100ms", "--update", "1s"],
                [product("HangMain"), "--how", "sleep", "--after", "0"], saying: "HangMain: ready")
            #expect(ending.exitCode == 137)
            let file = try scratch.write(
                "[App]\nExecStart=/bin/true\n\(unhurriedSettings)Ping=100ms\n", to: "HangMain.app")
            for (update, kind) in [("500ms", "both"), ("30s", "past")] {
                let answer = try watchdogd(
                    ["simulate", "--json", file, "--trace", trace, "--set", "Update=\(update)"])
                try #require(answer.code == 0, "\(answer.errors)")
                let simulation = try JSONDecoder().decode(Simulation.self, from: Data(answer.output.utf8))
                #expect(simulation.incidents.map(\.kind) == [kind], "\(update): \(answer.output)")
            }
        }
    }
}
