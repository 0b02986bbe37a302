// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("Servers with several processes, judged by the worker that should answer a probe")
    struct ProbedWorkerTests {
        /// A worker's fault, and the report's text about it.
        struct Hang: Sendable, CustomTestStringConvertible {
            let function: String
            /// Whether it accepts the probe first.
            let accepts: Bool
            /// If others take the CPUs, a worker that computes is busy or starved.
            let verdicts: Set<Verdict.Kind>
            let fault: Blame.Party?
            let headline: String
            let deed: String

            var testDescription: String { "\(function), \(accepts ? "accepted" : "not accepted")" }
        }

        static let hangs: [Hang] = [true, false].flatMap { accepts in
            [
                Hang(
                    function: "read_feed", accepts: accepts, verdicts: [.blocked], fault: .app,
                    headline: "waits for data from a pipe", deed: "is blocked in read (fd "),
                Hang(
                    function: "compute", accepts: accepts, verdicts: [.spinning, .busy, .starved], fault: nil,
                    headline: "", deed: "computes"),
                Hang(
                    function: "stop", accepts: accepts, verdicts: [.stopped], fault: .somebodyElse,
                    headline: "is stopped by a signal", deed: "is stopped"),
            ]
        }

        /// A master with a worker that shares its socket, answers some requests, and hangs.
        private static func server(_ hang: Hang, _ port: String, answers: Int = 1) -> [String] {
            python(
                """
                import os, signal, socket
                def read_feed():
                    reader, writer = os.pipe()
                    os.read(reader, 1)
                def compute():
                    while True: pass
                def stop(): os.kill(os.getpid(), signal.SIGSTOP)
                listening = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=16)
                def serve():
                    for _ in range(int(sys.argv[4])):
                        connection = listening.accept()[0]
                        connection.recv(4096)
                        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
                        connection.close()
                    if sys.argv[3] == "yes": connection = listening.accept()[0]
                    globals()[sys.argv[2]]()
                if os.fork() == 0:
                    serve()
                    os._exit(0)
                os.wait()
                """, port, hang.function, hang.accepts ? "yes" : "no", "\(answers)")
        }

        /// A recently free port.
        private static func freePort() throws -> String {
            let finder = try Program(
                python("import socket; s = socket.create_server(('127.0.0.1', 0)); say(s.getsockname()[1])"))
            let port = try finder.line()
            try finder.end()
            return port
        }

        @Test("Headline, cause, fault and stack name the worker", arguments: hangs)
        func named(hang: Hang) throws {
            let port = try Self.freePort()
            let ending = try supervise(
                [
                    "--readiness", "probe", "--probe", "http://127.0.0.1:\(port)/", "--probe-interval", "400ms",
                    "--probe-timeout", "400ms", "--update", "1s", "--name", "web", "--probe-threshold",
                    hang.accepts ? "1" : "2",
                ], Self.server(hang, port))
            try expectWorker(hang, in: try #require(ending.reports.first))
        }

        @Test("A launch that no probe ends is judged by the worker", arguments: hangs)
        func launch(hang: Hang) throws {
            let port = try Self.freePort()
            let ending = try supervise(
                [
                    "--readiness", "probe", "--probe", "http://127.0.0.1:\(port)/", "--probe-interval", "200ms",
                    "--probe-timeout", "30s", "--launch", "4s", "--name", "web",
                ], Self.server(hang, port, answers: 0))
            #expect(ending.summary?.incidents.map(\.event) == ["process-launch"])
            try expectWorker(hang, in: try #require(ending.reports.first))
        }

        /// A command that requests a line from the server, like a shell's health check.
        private static func question(_ port: String) -> String {
            "exec:exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/\(port); echo >&3; read -u 3 answer'"
        }

        @Test("A probe by a command is judged by the worker that the command waits for", arguments: hangs)
        func command(hang: Hang) throws {
            let port = try Self.freePort()
            let ending = try supervise(
                [
                    "--readiness", "probe", "--probe", Self.question(port), "--probe-interval", "400ms",
                    "--probe-timeout", "3s", "--update", "1s", "--name", "web", "--probe-threshold", "1",
                ], Self.server(hang, port))
            try expectWorker(hang, in: try #require(ending.reports.first))
        }

        @Test(
            "A launch that a command ends is judged by the worker too",
            arguments: hangs.filter { $0.function == "read_feed" })
        func readinessCommand(hang: Hang) throws {
            let port = try Self.freePort()
            let ending = try supervise(
                ["--readiness", Self.question(port), "--launch", "4s", "--name", "web"],
                Self.server(hang, port, answers: 0))
            #expect(ending.summary?.incidents.map(\.event) == ["process-launch"])
            try expectWorker(hang, in: try #require(ending.reports.first))
        }

        @Test("In a server of threads, the one that is held up is named", arguments: [true, false])
        func thread(accepts: Bool) throws {
            let port = try Self.freePort()
            let ending = try supervise(
                [
                    "--readiness", "probe", "--probe", accepts ? "http://127.0.0.1:\(port)/" : "tcp:127.0.0.1:\(port)",
                    "--probe-interval", "400ms", "--probe-timeout", "400ms", "--update", "1s", "--name", "web",
                    "--probe-threshold", accepts ? "1" : "2",
                ],
                python(
                    """
                    import os, signal, socket, threading
                    def read_feed():
                        reader, writer = os.pipe()
                        os.read(reader, 1)
                    listening = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=16)
                    def serve():
                        connection = listening.accept()[0]
                        if sys.argv[2] == "yes":
                            connection.recv(4096)
                            connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
                        connection.close()
                        if sys.argv[2] == "yes": connection = listening.accept()[0]
                        read_feed()
                    threading.Thread(target=serve, daemon=True).start()
                    signal.sigwait([signal.SIGUSR1])
                    """, port, accepts ? "yes" : "no"))
            let report = try #require(ending.reports.first)
            let linux = try #require(report.body.linux)
            let server = try #require(linux.server, "\(linux.notes)")
            #expect(server.hasAccepted == accepts && server.mainProcess == report.body.pid)
            #expect(linux.verdict.kind == .blocked, "\(linux.verdict.line)")
            let explanation = Explanation(of: report)
            let headline = explanation.headline ?? ""
            #expect(
                headline.hasPrefix("Thread 1 ") && headline.contains("of web waits for data from a pipe"), "\(headline)"
            )
            #expect(explanation.cause?.hasPrefix("the probe waits for ") == true, "\(explanation.cause ?? "")")
            #expect(explanation.blame?.party == .app)
            #expect(explanation.calls.first?.function == "read_feed", "\(explanation.calls)")
        }

        private func expectWorker(_ hang: Hang, in report: Report) throws {
            let linux = try #require(report.body.linux)
            let server = try #require(linux.server, "\(linux.notes)")
            let worker = report.body.pid
            #expect(server.hasAccepted == hang.accepts)
            #expect(worker != server.mainProcess && linux.processes?.map(\.pid).contains(server.mainProcess) == true)
            #expect(hang.verdicts.contains(linux.verdict.kind), "\(linux.verdict.line)")
            let explanation = Explanation(of: report)
            let headline = explanation.headline ?? ""
            #expect(headline.hasPrefix("Worker \(worker) of web \(hang.headline)"), "\(headline)")
            let wait =
                hang.accepts ? "a reply of python3 (pid \(worker))" : "python3 (pid \(worker)) to accept a connection"
            #expect(
                explanation.cause?.hasPrefix("the probe waits for \(wait), which \(hang.deed)") == true,
                "\(explanation.cause ?? "")")
            #expect(hang.fault.map { $0 == explanation.blame?.party } ?? true)
            #expect(explanation.blame?.reason.hasPrefix("worker \(worker) of web: ") == true)
            #expect(explanation.calls.first?.function == hang.function, "\(explanation.calls)")
        }
    }
}
