// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogRendering
import WatchdogReport

extension EndToEnd {
    @Suite("watchdogd observe")
    struct ObserveTests {
        /// A server that prints its port, and hangs in the handler of `/hang`.
        private static let server = python(
            """
            import http.server, time
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    if self.path == "/hang": time.sleep(1000)
                    self.send_response(200)
                    self.end_headers()
                def log_message(self, *arguments): pass
            server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
            say(server.server_address[1])
            server.serve_forever()
            """)

        private func observe(_ arguments: [String]) throws -> Program {
            try Program([product("watchdogd"), "observe"] + arguments)
        }

        @Test("A hang of a foreign process has a report, and the process survives")
        func hang() throws {
            let scratch = try Scratch()
            let server = try Program(Self.server)
            let port = try server.line()
            let observer = try observe([
                "\(server.pid)", "--probe", "http://127.0.0.1:\(port)/", "--probe-interval", "200ms",
                "--probe-timeout", "1s", "--probe-threshold", "2", "--reports", scratch.path,
            ])
            try observer.line(
                "observing python3, pid \(server.pid): probes http://127.0.0.1:\(port)/ every 200 ms; after a hang, writes a crash log",
                on: .errors)
            _ = try Program(
                python("import urllib.request as r; r.urlopen('http://127.0.0.1:\(port)/hang', timeout=1)")
            ).end()
            try observer.line("reported: 2 probes of http://127.0.0.1:\(port)/ failed", on: .errors)
            try observer.line("python3-", on: .errors)
            let file = try #require(names(in: scratch.path).first { $0.hasSuffix(".ips") })
            let report = try ReportCoding.decode(contents(of: "\(scratch.path)/\(file)") ?? [])
            let text = TextRenderer.render(report)
            #expect(text.contains("python3 [\(server.pid)]"), "\(text)")
            // The parent is the process that started it, not watchdogd.
            #expect(text.contains("[\(getpid())]"), "\(text)")
            #expect(text.contains("Kill: none, the process was left running"), "\(text)")
            #expect(text.contains("watchdogd only observes this process"), "\(text)")
            #expect(ProcessStat.read(server.pid)?.state == .sleeping)
            // Its exit ends the observation without an error.
            try server.send(SIGKILL)
            try observer.line("python3: process \(server.pid) has ended", on: .errors)
            let status = try observer.end()
            #expect(status == .exited(code: 0))
        }

        @Test("A process that answers has no report, and the observer leaves it unchanged")
        func healthy() throws {
            let scratch = try Scratch()
            let server = try Program(Self.server)
            let port = try server.line()
            let observer = try observe([
                "\(server.pid)", "--probe", "http://127.0.0.1:\(port)/", "--probe-interval", "100ms",
                "--probe-timeout", "5s", "--reports", scratch.path, "--for", "1s",
            ])
            let status = try observer.end()
            #expect(status == .exited(code: 0))
            #expect(names(in: scratch.path).filter { $0.hasSuffix(".ips") } == [])
            #expect(ProcessStat.read(server.pid)?.state == .sleeping)
        }

        @Test("A target that cannot be observed is reported in one line with a remedy, and an exit code of sysexits")
        func refusals() throws {
            let idle = try Program(["/bin/sleep", "1000"])
            let cases: [(arguments: [String], code: Int32, text: String)] = [
                ([], 64, "name what to observe"),
                (["\(idle.pid)"], 64, "add a probe, such as tcp:127.0.0.1:80"),
                (["2147483646", "--probe", "tcp:127.0.0.1:9"], 66, "there is no process 2147483646"),
                (["a b"], 64, "is not a service, a process ID or a container"),
                (
                    ["0123456789abcdef", "--probe", "tcp:127.0.0.1:9"], 66,
                    "no container with the ID or name 0123456789abcdef"
                ),
                (["7", "--enforce", "restart-unit"], 64, "applies only to services"),
                (
                    ["nosuch.service", "--enforce", "restart-unit", "--probe", "tcp:127.0.0.1:9"], 64,
                    "nothing is observed: no terminal to ask on; use --yes to skip the question"
                ),
                (["web", "shop", "--probe", "tcp:127.0.0.1:9"], 64, "--probe applies to one target"),
                (
                    ["7", "--probe", "tcp:127.0.0.1:9", "--fro", "3s"], 64,
                    "Unknown option '--fro'. Did you mean '--for'?"
                ),
            ]
            for (arguments, code, text) in cases {
                let observer = try observe(arguments + ["--reports", "none"])
                let status = try observer.end()
                #expect(status == .exited(code: code), "\(arguments)")
                let errors = observer.text(.errors)
                #expect(errors.contains(text) && errors.split(separator: "\n").count == 1, "\(errors)")
            }
        }
    }
}
