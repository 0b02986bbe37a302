// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    /// A real proxy between real sockets; the shaper's unit tests check the accuracy of its rates.
    @Suite("watchdogd conditioner")
    struct ConditionerTests {
        /// A server that echoes its input, and its address.
        private static let echo = #"""
            import socketserver

            class Echo(socketserver.BaseRequestHandler):
                def handle(self):
                    while data := self.request.recv(65536):
                        self.request.sendall(data)

            class Server(socketserver.ThreadingTCPServer):
                daemon_threads = True
                request_queue_size = 128

            server = Server(("127.0.0.1", 0), Echo)
            say("port", server.server_address[1])
            server.serve_forever()
            """#

        /// Shared by the clients: `connect()`, and `read(socket)` until the end.
        private static let client = #"""
            port = int(sys.argv[1])

            def connect():
                return socket.create_connection(("127.0.0.1", port))

            def read(connection):
                data = b""
                while part := connection.recv(65536):
                    data += part
                return data


            """#

        private final class Setting {
            let server: Program
            let conditioner: Program
            let port: String

            init(_ options: [String]) throws {
                server = try Program(python(ConditionerTests.echo))
                let target = try server.line("port").split(separator: " ").last.map(String.init) ?? ""
                conditioner = try Program(
                    [product("watchdogd"), "conditioner"] + options
                        + ["--listen", "localhost:0", "--to", "127.0.0.1:\(target)"])
                let line = try conditioner.line("listening on 127.0.0.1:")
                port = String(line.dropFirst("listening on 127.0.0.1:".count).prefix { $0.isNumber })
            }

            func client(_ source: String) throws -> Program {
                try Program(python(ConditionerTests.client + source, port))
            }

            /// The client's last output; its absence fails the test.
            func answer(_ source: String) throws -> String {
                let client = try client(source)
                #expect(try client.end().code == 0, "\(client.text(.errors))")
                return client.text(.output)
            }
        }

        @Test("Bytes and ends of streams pass both ways unharmed, on many connections at once")
        func passes() throws {
            let setting = try Setting(["--profile", "wifi"])
            let answer = try setting.answer(
                #"""
                import hashlib, threading
                results = []

                def talk(number):
                    data = hashlib.sha512(bytes([number])).digest() * 500
                    connection = connect()
                    threading.Thread(target=lambda: (connection.sendall(data), connection.shutdown(1))).start()
                    results.append(read(connection) == data)

                threads = [threading.Thread(target=talk, args=[number]) for number in range(20)]
                for thread in threads: thread.start()
                for thread in threads: thread.join()
                say(results.count(True))
                """#)
            #expect(answer == "20\n")
        }

        @Test("A round trip takes the delays of both directions, and a new connection takes one more")
        func latency() throws {
            let setting = try Setting(["--profile", "perfect", "--latency", "100ms"])
            let answer = try setting.answer(
                #"""
                connection = connect()
                for _ in range(2):
                    start = time.monotonic()
                    connection.sendall(b"x")
                    connection.recv(1)
                    say(round(1000 * (time.monotonic() - start)))
                """#)
            let times = answer.split(separator: "\n").compactMap { Int($0) }
            try #require(times.count == 2)
            #expect(times[0] >= 395 && times[1] >= 195)
            #expect(times[1] < 3000, "a busy machine is slow, but not as slow as that")
        }

        @Test("The throughput is at most the bandwidth, and nearly as much")
        func bandwidth() throws {
            // 200 kB in each direction at 100 kB/s; they are echoed while they arrive, so it takes little longer than
            // one direction.
            let setting = try Setting(["--profile", "perfect", "--bandwidth", "800"])
            let answer = try setting.answer(
                #"""
                start = time.monotonic()
                connection = connect()
                threading.Thread(target=lambda: (connection.sendall(b"x" * 200000), connection.shutdown(1))).start()
                say(len(read(connection)), round(1000 * (time.monotonic() - start)))
                """#)
            let words = answer.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            try #require(words.count == 2)
            #expect(words[0] == 200_000)
            #expect((1900...8000).contains(words[1]))
        }

        @Test("A link that loses everything accepts a connection and stays silent")
        func deadLink() throws {
            let setting = try Setting(["--profile", "100-percent-loss"])
            let answer = try setting.answer(
                #"""
                connection = connect()
                connection.sendall(b"x")
                connection.settimeout(0.5)
                try:
                    say("answered", connection.recv(1))
                except socket.timeout:
                    say("silent")
                """#)
            #expect(answer == "silent\n")
        }

        @Test("Clients that give up on a dead link make room for others")
        func abandoned() throws {
            let setting = try Setting(["--profile", "100-percent-loss"])
            let answer = try setting.answer(
                #"""
                for _ in range(600):
                    connection = connect()
                    connection.sendall(b"x")
                    connection.close()
                say("made all")
                """#)
            #expect(answer == "made all\n")
            #expect(
                eventually {
                    // Standard streams, listener, the end of a pipe, descriptors of libraries.
                    names(in: "/proc/\(setting.conditioner.pid)/fd").count < 20
                })
        }

        @Test("A missing server appears as a broken connection, and later connections are forwarded")
        func noServer() throws {
            let setting = try Setting(["--profile", "perfect"])
            try setting.server.send(SIGKILL)
            try setting.server.end()
            let answer = try setting.answer(
                #"""
                for _ in range(2):
                    try:
                        connection = connect()
                        connection.sendall(b"x")
                        say("end" if connection.recv(1) == b"" else "answer")
                    except OSError as error:
                        say("reset")
                """#)
            #expect(answer.split(separator: "\n").allSatisfy { $0 == "reset" || $0 == "end" })
            #expect(setting.conditioner.status == nil)
        }

        @Test("A client that sends faster than the link waits; the conditioner does not grow")
        func bounded() throws {
            let setting = try Setting(["--profile", "edge"])
            let answer = try setting.answer(
                #"""
                connections = [connect() for _ in range(20)]
                sent = 0
                for connection in connections:
                    connection.setblocking(False)
                    try:
                        while True:
                            sent += connection.send(b"x" * 1000000)
                    except BlockingIOError:
                        pass
                say("sent", sent > 20 * 65536)
                status = open("/proc/\#(setting.conditioner.pid)/status").read()
                say("resident", int(status.split("VmRSS:")[1].split()[0]))
                """#)
            #expect(answer.contains("sent True"))
            let resident = answer.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) } ?? .max
            #expect(resident < 60_000)
        }

        @Test("SIGTERM and SIGINT end it with 0, even during connections", arguments: [SIGTERM, SIGINT])
        func ends(signal: Int32) throws {
            let setting = try Setting(["--profile", "very-bad-network"])
            let client = try setting.client(
                #"""
                connection = connect()
                connection.sendall(b"x")
                say("sent")
                try:
                    connection.recv(1)
                except OSError:
                    pass
                say("over")
                """#)
            try client.line("sent")
            try setting.conditioner.send(signal)
            #expect(try setting.conditioner.end().code == 0)
            #expect(setting.conditioner.text(.errors) == "")
            try client.line("over")
        }

        @Test(
            "A wrong option is reported in one line with a hint",
            arguments: [
                (["--profile", "5g"], "unknown profile '5g'; use one of perfect, wifi, lte, dsl, 3g, edge"),
                (["--profile", "3g", "--loss", "101"], "use a percentage from 0 to 100"),
                (["--profile", "3g", "--bandwidth", "0"], "use kbit/s from 1"),
                (["--profile", "3g", "--to", "example.com:80"], "\"example.com\" is not an IP address"),
                (["--profile", "3g", "--listen", "80"], "write 127.0.0.1:8080"),
            ]
        )
        func wrongOption(options: [String], message: String) throws {
            let others = ["--listen", "localhost:0", "--to", "localhost:1"]
            let rest = others.indices.filter { $0 % 2 == 0 && !options.contains(others[$0]) }
                .flatMap { [others[$0], others[$0 + 1]] }
            let program = try Program([product("watchdogd"), "conditioner"] + options + rest)
            #expect(try program.end().code == 64)
            let lines = program.text(.errors).split(separator: "\n")
            #expect(lines.count == 1)
            #expect(lines.first?.contains(message) == true, "\(lines)")
        }

        @Test("A listening address in use is named, with exit code 69")
        func taken() throws {
            let setting = try Setting(["--profile", "perfect"])
            let second = try Program([
                product("watchdogd"), "conditioner", "--profile", "perfect", "--listen", "127.0.0.1:\(setting.port)",
                "--to", "127.0.0.1:1",
            ])
            #expect(try second.end().code == 69)
            #expect(
                second.text(.errors)
                    == "watchdogd: cannot listen on 127.0.0.1:\(setting.port): Address already in use\n")
        }
    }
}
