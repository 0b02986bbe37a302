// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogLinux

@Suite("Requests to a text server")
struct HTTPRequestTests {
    private func read(_ text: String, limit: Int = 200) -> HTTPRequest { HTTPRequest(Array(text.utf8), limit: limit) }

    @Test(
        "a request is parsed once its head is complete",
        arguments: [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", HTTPRequest.get(path: "/metrics")),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", .get(path: "/metrics")),
            ("GET / HTTP/1.1\n\n", .get(path: "/")), ("\r\nGET /a HTTP/1.1\r\n\r\n", .get(path: "/a")),
            ("", .incomplete), ("GET /metrics HTTP/1.1\r\n", .incomplete),
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n", .incomplete), ("\r\n\r\n", .incomplete),
            ("POST /metrics HTTP/1.1\r\n\r\n", .refused(.methodNotAllowed)),
            ("HEAD /metrics?a HTTP/1.1\r\n\r\n", .head(path: "/metrics")),
            ("get /metrics HTTP/1.1\r\n\r\n", .refused(.methodNotAllowed)),
            ("GET http://x/metrics?a HTTP/1.1\r\n\r\n", .get(path: "/metrics")),
            ("HEAD HTTPS://[::1]:80/metrics HTTP/1.1\r\n\r\n", .head(path: "/metrics")),
            ("GET http://x HTTP/1.1\r\n\r\n", .get(path: "/")), ("GET http://x?a HTTP/1.1\r\n\r\n", .get(path: "/")),
            ("GET http:///metrics HTTP/1.1\r\n\r\n", .refused(.badRequest)),
            ("GET http:/metrics HTTP/1.1\r\n\r\n", .refused(.badRequest)),
            ("GET ftp://x/metrics HTTP/1.1\r\n\r\n", .refused(.badRequest)),
            ("GET * HTTP/1.1\r\n\r\n", .refused(.badRequest)), ("GET x HTTP/1.1\r\n\r\n", .refused(.badRequest)),
            ("CONNECT x:80 HTTP/1.1\r\n\r\n", .refused(.badRequest)),
            ("GET  /metrics HTTP/1.1\r\n\r\n", .refused(.badRequest)),
            ("GET /metrics\r\n\r\n", .refused(.badRequest)), ("GET /metrics HTTP/2\r\n\r\n", .refused(.badRequest)),
            ("GET /m\u{0}etrics HTTP/1.1\r\n\r\n", .refused(.badRequest)),
            ("GET /mé HTTP/1.1\r\n\r\n", .refused(.badRequest)), ("\u{16}\u{3}\u{1}\n\n", .refused(.badRequest)),
        ])
    func requests(_ text: String, _ wanted: HTTPRequest) {
        #expect(read(text) == wanted)
    }

    @Test("a head as long as the limit may still end; one without an end is rejected there")
    func limit() {
        let head = "GET / HTTP/1.1\r\nA: bb\r\n\r\n"
        #expect(read(head, limit: head.utf8.count) == .get(path: "/"))
        #expect(read(String(repeating: "a", count: 199)) == .incomplete)
        #expect(read(String(repeating: "a", count: 200)) == .refused(.headTooLarge))
    }

    @Test("each status has a head with the length of the body and the end of the connection")
    func heads() {
        for status in HTTPStatus.allCases {
            let head = String(decoding: status.head(contentType: "text/plain", length: 12), as: UTF8.self)
            #expect(head.hasPrefix("HTTP/1.1 \(status.rawValue)\r\n") && head.hasSuffix("\r\n\r\n"))
            #expect(head.contains("\r\nContent-Length: 12\r\n") && head.contains("\r\nConnection: close\r\n"))
            #expect(head.contains("Allow: GET, HEAD\r\n") == (status == .methodNotAllowed))
        }
    }
}
