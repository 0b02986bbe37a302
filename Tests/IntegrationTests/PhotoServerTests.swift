// SPDX-License-Identifier: Apache-2.0

import Glibc
import SampleSupport
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    @Suite("PhotoServer")
    struct PhotoServerTests {
        /// Sends bytes, and prints the status of each response until the connection ends or `count` have arrived.
        private static let client = #"""
            host, port = sys.argv[1].rsplit(":", 1)
            connection = socket.create_connection((host, int(port)))
            connection.settimeout(20)

            def statuses(data, count):
                try:
                    connection.sendall(data)
                except BrokenPipeError:
                    pass
                stream = connection.makefile("rb")
                found = []
                while len(found) < count and (line := stream.readline()):
                    length = 0
                    found.append(int(line.split()[1]))
                    while (header := stream.readline()) not in (b"\r\n", b""):
                        if header.lower().startswith(b"content-length:"):
                            length = int(header.split(b":")[1])
                    if not data.startswith(b"HEAD"):
                        stream.read(length)
                return found


            """#

        private func answer(_ service: PhotoService, _ source: String) throws -> String {
            let client = try Program(python(Self.client + source, service.address))
            #expect(try client.end().code == 0, "\(client.text(.errors))")
            return client.text(.output)
        }

        @Test(
            "Every request gets the right response",
            arguments: [
                (#"b"GET /feed.json HTTP/1.1\r\n\r\n""#, 200), (#"b"HEAD /photos/8.png HTTP/1.1\r\n\r\n""#, 200),
                (#"b"GET /feed.json?page=2 HTTP/1.0\r\n\r\n""#, 200), (#"b"GET /photos/9.png HTTP/1.1\r\n\r\n""#, 404),
                (#"b"GET /../etc/passwd HTTP/1.1\r\n\r\n""#, 404), (#"b"POST /feed.json HTTP/1.1\r\n\r\n""#, 405),
                (#"b"GET /feed.json HTTP/3\r\n\r\n""#, 505), (#"b"GET\r\n\r\n""#, 400), (#"b"\r\n\r\n""#, 400),
                (#"b"GET /feed.json HTTP/1.1\r\nNo colon\r\n\r\n""#, 400),
                (#"b"GET /feed.json HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello""#, 413),
                (#"b"GET /feed.json HTTP/1.1\r\nX: " + b"x" * 9000"#, 431), (#"bytes(range(256)) * 40"#, 431),
            ]
        )
        func answers(request: String, status: Int) throws {
            let service = try PhotoService([])
            #expect(try answer(service, "say(statuses(\(request), 1))") == "[\(status)]\n")
            #expect(service.program.status == nil)
        }

        @Test("A connection serves many pipelined requests in order")
        func pipelining() throws {
            let service = try PhotoService(["--delay", "/friends.json=1s"])
            let requests =
                #"b"GET /friends.json HTTP/1.1\r\n\r\nGET /none HTTP/1.1\r\n\r\nGET /feed.json HTTP/1.1\r\n\r\n""#
            #expect(try answer(service, "say(statuses(\(requests), 3))") == "[200, 404, 200]\n")
        }

        @Test("Clients that stall and requests that are never answered do not delay others")
        func stalls() throws {
            let service = try PhotoService(["--delay", "/friends.json=forever"])
            let stalled = try Program(
                python(Self.client + #"connection.sendall(b"GET /fe"); say("sent"); input()"#, service.address),
                streams: .pipesAndInput)
            try stalled.line("sent")
            let unanswered = try Program(
                python(
                    Self.client + #"connection.sendall(b"GET /friends.json HTTP/1.1\r\n\r\n"); say("sent"); input()"#,
                    service.address),
                streams: .pipesAndInput)
            try unanswered.line("sent")
            #expect(try answer(service, #"say(statuses(b"GET /feed.json HTTP/1.1\r\n\r\n", 1))"#) == "[200]\n")
        }

        @Test("Each photo is a different picture")
        func photos() throws {
            let service = try PhotoService([])
            let port = service.address.split(separator: ":").last ?? ""
            var pictures: [Raster] = []
            for number in 1...2 {
                let fetch = try Program(
                    python(
                        #"import urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read().hex().encode())"#,
                        "http://127.0.0.1:\(port)/photos/\(number).png"))
                #expect(try fetch.end().code == 0)
                let digits = Array(fetch.text(.output).utf8)
                let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
                    UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
                }
                pictures.append(try PNG.decode(bytes))
            }
            #expect(pictures[0].width == 224)
            #expect(pictures[0] != pictures[1])
        }

        @Test("SIGTERM ends it with 0, and it is a supervised app like any other")
        func ends() throws {
            let run = try Supervision([], [product("PhotoServer"), "--listen", "127.0.0.1:0"])
            try run.line("PhotoServer: listening on 127.0.0.1:")
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.launch?.source == "channel")
        }
    }
}
