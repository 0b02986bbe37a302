// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogVerdict

private let hasPostgres =
    isRoot && isInstalled("postgres") && isInstalled("initdb") && isInstalled("pg_isready") && isInstalled("runuser")

extension EndToEnd {
    @Suite("Liveness probes of unmodified programs")
    struct LivenessTests {
        private static let rhythm = [
            "--readiness", "probe", "--probe-interval", "400ms", "--probe-timeout", "400ms",
        ]

        /// A server with one thread that prints its port, and hangs in the handler of `/hang`.
        private static let server = python(
            """
            import http.server, time
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    if self.path == "/hang": time.sleep(1000)
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(b"all is well")
                def log_message(self, *arguments): pass
            server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
            say("serving")
            server.serve_forever()
            """)

        /// A recently free port.
        private static func freePort() throws -> Int {
            let program = try Program(
                python("import socket; s = socket.create_server(('127.0.0.1', 0)); say(s.getsockname()[1])"))
            let port = try #require(Int(try program.line()))
            try program.end()
            return port
        }

        private static func probes(of port: Int) -> [String] {
            [
                "tcp:127.0.0.1:\(port)", "http://127.0.0.1:\(port)/health",
                "exec:\(python("import urllib.request as r; r.urlopen('http://127.0.0.1:\(port)/')")[0]) -c "
                    + "\"import urllib.request as r; r.urlopen('http://127.0.0.1:\(port)/')\"",
            ]
        }

        @Test("status shows the latencies of an app's probes")
        func latencies() throws {
            let service = try Service([
                "probed": """
                [App]
                ExecStart=/bin/sleep 1000
                \(unhurriedSettings)
                Readiness=none
                Probe=exec:true
                ProbeInterval=100ms
                ProbeTimeout=1h
                """,
                "plain": "[App]\nExecStart=/bin/sleep 1000\n\(unhurriedSettings)Readiness=none\n",
            ])
            func probes() throws -> LatencySummary? {
                try service.client.describe(DescribeRequest("probed")).details?.probes
            }
            #expect(try eventually { try probes()?.count ?? 0 >= 3 })
            let summary = try #require(try probes())
            #expect(try #require(summary.median) <= #require(summary.maximum))
            let text = try service.command("status", "probed").output
            #expect(text.contains("Probes: ") && text.contains("; p50 "), "\(text)")
            #expect(try #require(try service.client.describe(DescribeRequest("plain")).details).probes == nil)
            #expect(try service.end() == 0)
        }

        @Test("A server whose only thread is stuck in a handler fails each kind of probe", arguments: 0..<3)
        func stuckHandler(kind: Int) throws {
            let port = try Self.freePort()
            let target = Self.probes(of: port)[kind]
            let timing = kind == 2 ? ["--probe-timeout", "2s", "--probe-interval", "500ms"] : []
            let run = try Supervision(
                ["--verbose", "--probe", target] + Self.rhythm + timing, Self.server + ["\(port)"])
            try run.line("ready after", on: .errors)
            let stuck = try Program(
                python("import urllib.request as r; r.urlopen('http://127.0.0.1:\(port)/hang')"))
            let ending = try run.end()
            _ = try? stuck.end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.launch?.source == "probe")
            #expect(ending.summary?.incidents.map(\.event) == ["scene-update"])
            let report = try #require(ending.reports.first)
            #expect(report.body.linux?.verdict.kind == .blocked)
            let shown = target.prefix(20)
            let missed = try #require(report.body.linux?.missed)
            #expect(missed.kind == .probe && missed.target.hasPrefix(shown))
            #expect(ending.errors.contains { $0.contains(" probes of \(shown)") && $0.contains("killed: ") })
        }

        @Test("A server that answers passes each kind of probe", arguments: 0..<3)
        func healthyServer(kind: Int) throws {
            let port = try Self.freePort()
            let timing = kind == 2 ? ["--probe-timeout", "5s", "--probe-threshold", "5"] : []
            let run = try Supervision(
                ["--verbose", "--probe", Self.probes(of: port)[kind]] + Self.rhythm + timing,
                Self.server + ["\(port)"])
            try run.line("ready after", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(2_500)))
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.summary?.termination == "terminated")
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        @Test("A socket with deferred acceptance hides no hang from a tcp probe, and fails no healthy server")
        func deferredAcceptance() throws {
            let port = try Self.freePort()
            let server = python(
                """
                import socket, time
                listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
                listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 30)
                say("serving")
                while True:
                    connection = listening.accept()[0]
                    if connection.recv(5) == b"hang!": time.sleep(1000)
                    connection.close()
                """)
            let run = try Supervision(
                ["--verbose", "--probe", "tcp:127.0.0.1:\(port)"] + Self.rhythm, server + ["\(port)"])
            try run.line("ready after", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(2_500)))
            let stuck = try Program(
                python("import socket; socket.create_connection(('127.0.0.1', \(port))).sendall(b'hang!')"))
            let ending = try run.end()
            _ = try? stuck.end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.map(\.event) == ["scene-update"])
            #expect(ending.reports.first?.body.linux?.missed?.kind == .probe)
        }

        @Test("The status and the required body decide")
        func judgement() throws {
            for (options, isWell) in [
                (["--probe-body", "is well"], true), (["--probe-body", "is ill"], false),
                (["--probe-status", "200"], true), (["--probe-status", "201-299"], false),
            ] {
                let port = try Self.freePort()
                let ending = try supervise(
                    ["--probe", "http://127.0.0.1:\(port)/", "--launch", isWell ? "20s" : "1500ms", "--expect"]
                        + [isWell ? "ready" : "0x8badf00d:process-launch"] + Self.rhythm + options,
                    Self.server + ["\(port)"])
                #expect(ending.exitCode == 0, "\(options)")
            }
        }

        @Test("A probe command that hangs is killed with its children, and counts as no answer")
        func hangingCommand() throws {
            let ending = try supervise(
                [
                    "--readiness", "none", "--probe-interval", "300ms", "--probe-timeout", "300ms",
                    "--probe", "exec:setsid sleep 1000 & sleep 1000",
                ], ["/bin/sleep", "1000"])
            #expect(ending.exitCode == 137)
            #expect(ending.errors.contains { $0.contains("no answer") })
        }

        @Test("A probe command that does not exist is reported, and causes no kill")
        func missingCommand() throws {
            let run = try Supervision(
                ["--readiness", "none", "--probe-interval", "100ms", "--probe", "exec:no-such-command-here"],
                ["/bin/sleep", "1000"])
            try run.line(
                "cannot be probed, which does not count as a failure: the command exited with code 127", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(1_000)))
            try run.send(SIGTERM)
            #expect(try run.end().summary?.incidents.isEmpty == true)
        }

        // MARK: - Stopped programs

        @Test("A stopped program is captured and killed for its probes after its update allowance, not before")
        func stopped() throws {
            let port = try Self.freePort()
            let run = try Supervision(
                ["--verbose", "--update", "3s", "--probe", "http://127.0.0.1:\(port)/"] + Self.rhythm,
                Self.server + ["\(port)"])
            try run.line("ready after", on: .errors)
            let pid = try #require(run.processes.first)
            let began = Instant.now()
            kill(pid, SIGSTOP)
            try run.line("is stopped by a signal; probes are paused", on: .errors)
            let ending = try run.end()
            #expect(Instant.now() - began >= .seconds(3))
            #expect(ending.exitCode == 137)
            #expect(ending.reports.first?.body.linux?.verdict.kind == .stopped)
        }

        @Test("A program that is stopped for less than its update allowance survives")
        func stoppedForAWhile() throws {
            let port = try Self.freePort()
            let run = try Supervision(
                ["--verbose", "--update", "20s", "--probe", "http://127.0.0.1:\(port)/"] + Self.rhythm,
                Self.server + ["\(port)"])
            try run.line("ready after", on: .errors)
            let pid = try #require(run.processes.first)
            kill(pid, SIGSTOP)
            try run.line("is stopped by a signal; probes are paused", on: .errors)
            kill(pid, SIGCONT)
            try run.line("probes have resumed", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(1_500)))
            try run.send(SIGTERM)
            #expect(try run.end().summary?.incidents.isEmpty == true)
        }

        // MARK: - Real servers

        @Test(
            "A redis that sleeps in a command is killed with its stacks; one that answers is not",
            .enabled(if: isInstalled("redis-server") && isInstalled("redis-cli"), "redis is not installed"),
            arguments: ["tcp", "exec"], [true, false])
        func redis(kind: String, hangs: Bool) throws {
            let port = try Self.freePort()
            let target = kind == "tcp" ? "tcp:\(port)" : "exec:redis-cli -p \(port) ping | grep -q PONG"
            let scratch = try Scratch()
            let run = try Supervision(
                ["--verbose", "--probe", target] + Self.rhythm,
                [
                    "redis-server", "--port", "\(port)", "--save", "", "--dir", scratch.path,
                    "--enable-debug-command", "yes", "--daemonize", "no",
                ], scratch: scratch)
            try run.line("ready after", on: .errors)
            let seconds = hangs ? "15" : "0"
            let client = try Program(["redis-cli", "-p", "\(port)", "DEBUG", "SLEEP", seconds])
            if hangs {
                let ending = try run.end()
                #expect(ending.exitCode == 137)
                #expect(ending.reports.first?.body.linux?.verdict.kind == .blocked)
                #expect(ending.errors.contains { $0.contains("killed: ") && $0.contains(" probes of \(kind):") })
            } else {
                #expect(try run.program.lives(for: .milliseconds(2_500)))
                try run.send(SIGTERM)
                #expect(try run.end().summary?.incidents.isEmpty == true)
            }
            try client.end()
        }

        @Test(
            "A postgres whose postmaster is stopped is killed as a whole; a stopped backend does not count against it",
            .enabled(if: hasPostgres, "needs root, postgres, initdb, pg_isready and runuser"), arguments: [true, false])
        func postgres(stopsPostmaster: Bool) throws {
            let scratch = try Scratch()
            let data = try scratch.makeDirectory("data", mode: 0o700)
            chmod(scratch.path, 0o755)
            let account = try UserAccount.find(user: "postgres")
            chown(data, account.credentials.user, account.credentials.group)
            let make = try Program(["runuser", "-u", "postgres", "--", "initdb", "-A", "trust", "-N", "-D", data])
            try #require(try make.end().code == 0, "\(make.text(.errors))")
            let port = try Self.freePort()
            let run = try Supervision(
                [
                    "--verbose", "--user", "postgres", "--chdir", data, "--update", "2s", "--launch", "60s",
                    "--probe", "exec:pg_isready -q -t 1 -h 127.0.0.1 -p \(port)", "--readiness", "probe",
                    "--probe-interval", "500ms", "--probe-timeout", "2s",
                ],
                // A killed postmaster leaves its segments in /dev/shm.
                [
                    "postgres", "-D", data, "-p", "\(port)", "-h", "127.0.0.1", "-k", data, "-c",
                    "dynamic_shared_memory_type=mmap",
                ], scratch: scratch)
            try run.line("ready after", on: .errors)
            // They overwrite their environment, which identifies other processes.
            let postmaster = try #require(children(of: run.program.pid).first { name(of: $0) == "postgres" })
            let backend = try #require(children(of: postmaster).first)
            kill(stopsPostmaster ? postmaster : backend, SIGSTOP)
            if stopsPostmaster {
                let ending = try run.end()
                #expect(ending.exitCode == 137)
                #expect(ending.reports.first?.body.linux?.verdict.kind == .stopped)
            } else {
                #expect(try run.program.lives(for: .seconds(3)))
                kill(backend, SIGCONT)
                try run.send(SIGINT)
                #expect(try run.end().summary?.incidents.isEmpty == true)
            }
        }
    }
}

private func children(of pid: Int32) -> [Int32] {
    names(in: "/proc").compactMap { Int32($0) }.filter { parent(of: $0) == pid }
}

private func name(of pid: Int32) -> String {
    String(decoding: contents(of: "/proc/\(pid)/comm") ?? [], as: UTF8.self).split(separator: "\n").joined()
}

/// The parent's process id: proc_pid_stat(5), field 4.
private func parent(of pid: Int32) -> Int32? {
    let text = String(decoding: contents(of: "/proc/\(pid)/stat") ?? [], as: UTF8.self)
    return text.split(separator: ")").last?.split(separator: " ").dropFirst().first.flatMap { Int32($0) }
}
