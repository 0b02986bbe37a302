// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("A command's request to an HTTP server")
struct WebRequestTests {
    @Test(
        "Addresses are parsed",
        arguments: [
            ("http://localhost:9090", "localhost", "9090", "localhost:9090", ""),
            ("http://prometheus", "prometheus", "80", "prometheus", ""),
            ("http://[::1]:9090/prefix//", "::1", "9090", "[::1]:9090", "/prefix"),
            ("http://10.0.0.1/a/b", "10.0.0.1", "80", "10.0.0.1", "/a/b"),
        ])
    func addresses(_ text: String, _ host: String, _ port: String, _ authority: String, _ prefix: String) throws {
        let address = try WebAddress(parsing: text)
        #expect(address.host == host && address.port == port)
        #expect(address.authority == authority && address.prefix == prefix)
        #expect(address.description == "http://\(authority)\(prefix)")
    }

    @Test(
        "Invalid addresses are rejected",
        arguments: [
            "", "http://", "http://:80", "localhost:9090", "https://a", "http://a:0", "http://a:65536", "http://a:x",
            "http://a:b:1", "http://[::1", "http://[::1]x", "http://a b", "http://u@a", "http://a/?q", "http://a/#f",
            "http://a\r\nX: y", "http://é", "http://a:+1", "http://" + String(repeating: "a", count: 3_000),
        ])
    func invalid(_ text: String) {
        #expect(throws: WebAddress.ParsingError.self) { try WebAddress(parsing: text) }
    }

    private func parse(_ text: String, limit: Int = 100) -> Result<WebRequest.Answer, WebRequest.Failure> {
        Result { () throws(WebRequest.Failure) in try WebRequest.parse(Array(text.utf8), limit: limit) }
    }

    private func reason(_ text: String, limit: Int = 100) -> String? {
        if case .failure(let failure) = parse(text, limit: limit) { failure.reason } else { nil }
    }

    @Test("Responses are parsed in the forms that servers use")
    func answers() throws {
        let whole = try parse("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc").get()
        #expect(whole.status == 200 && whole.body == Array("abc".utf8))
        #expect(try parse("HTTP/1.0 503\n\n").get().status == 503)
        #expect(try parse("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 100)).get().body.count == 100)
        for rest in [
            "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x\r\nbc\r\n0\r\nX: y\r\n\r\n",
            "Transfer-Encoding: identity\r\n\r\nabc", "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabcd",
            "Content-Encoding: identity\r\n\r\nabc", "X: \(String(repeating: "x", count: 20_000))\r\n\r\nabc",
        ] {
            #expect(try parse("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n" + rest).get() == whole, "\(rest)")
        }
    }

    @Test("Invalid responses are rejected")
    func noAnswers() {
        #expect(reason("") == "closed the connection without an answer")
        for text in ["x", "HTTP/1.1 99 x\n\n", "HTTP/1.1 600 x\n\n", "HTTP/3 200\n\n", "\n\n"] {
            #expect(reason(text) == "does not speak HTTP", "\(text)")
        }
        for text in ["HTTP/1.1 200", "HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"] {
            #expect(reason(text) == "cut its answer off", "\(text)")
        }
        for length in ["-1", "x", "3\r\nContent-Length: 2"] {
            #expect(reason("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nabc") == "answers with malformed HTTP")
        }
        for coding in ["Transfer-Encoding: gzip, chunked", "Content-Encoding: gzip"] {
            #expect(reason("HTTP/1.1 200 OK\r\n\(coding)\r\n\r\n0\r\n\r\n") == "answers in an unsupported encoding")
        }
        #expect(reason("HTTP/1.1 200 OK\r\n\r\n1234", limit: 3) == "answers with more than 0 MiB")
        #expect(
            reason("HTTP/1.1 200 OK\r\n" + String(repeating: "x", count: HTTPReader.framingLimit))
                == "answers with a header of more than 1 MiB")
    }

    /// A localhost socket that queues connections, and its port.
    private func listener() throws -> (OwnedDescriptor, Int) {
        let listener = OwnedDescriptor(taking: socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        // Listening binds it to a free port on all addresses: listen(2), ip(7).
        try #require(listen(listener.number, 1) == 0)
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener.number, $0, &length) }
        }
        try #require(code == 0)
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    @Test("A server that never answers is abandoned after the limit, not before")
    func silence() throws {
        let (listener, port) = try listener()
        var request = WebRequest(to: try WebAddress(parsing: "http://127.0.0.1:\(port)"))
        request.timeout = .milliseconds(50)
        let started = Instant.now()
        let error = #expect(throws: WebRequest.Failure.self) { try request.get("/") }
        #expect(error?.reason == "did not answer within 50 ms")
        #expect(Instant.now() - started >= .milliseconds(50))
        withExtendedLifetime(listener) {}
    }

    @Test("A connection that stays open after the response is not awaited")
    func keptAlive() throws {
        let (listener, port) = try listener()
        let number = listener.number
        startThread {
            let connection = accept(number, nil, nil)
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            var buffer = [UInt8](repeating: 0, count: 4_096)
            _ = read(connection, &buffer, buffer.count)
            let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".utf8)
            _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
            // Until the other end closes it.
            _ = read(connection, &buffer, buffer.count)
            close(connection)
        }
        var request = WebRequest(to: try WebAddress(parsing: "http://127.0.0.1:\(port)"))
        request.timeout = patience
        #expect(try request.get("/").body == Array("abc".utf8))
        withExtendedLifetime(listener) {}
    }
}
