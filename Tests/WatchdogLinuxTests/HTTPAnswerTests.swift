// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Answers to HTTP probes")
struct HTTPAnswerTests {
    /// The judgement of an answer that comes in parts of a size and then ends.
    private func judge(
        _ text: String, body: String? = nil, statuses: [ClosedRange<Int>] = [200...399], partsOf size: Int = .max
    ) -> ProbeResult {
        var answer = HTTPAnswer(expecting: .init(statuses: statuses, body: body))
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            if let result = answer.receive(Array(rest.prefix(size))) { return result }
            rest = rest.dropFirst(size)
        }
        return answer.end()
    }

    private static let malformed = ProbeResult.failed("the HTTP answer is malformed")
    private static let wrongBody = ProbeResult.failed("the body of the HTTP answer does not contain what it must")

    @Test("A status in the ranges is a success, one outside of them is named", arguments: [1, 3, .max])
    func statuses(size: Int) {
        #expect(judge("HTTP/1.1 200 OK\r\n\r\n", partsOf: size) == .answered)
        #expect(judge("HTTP/1.0 399\r\nA: b\r\n\r\n", partsOf: size) == .answered)
        #expect(judge("HTTP/1.1 204 No Content\n\n", statuses: [100...100, 204...206], partsOf: size) == .answered)
        #expect(judge("HTTP/1.1 400 Bad\r\n\r\n", partsOf: size) == .failed("HTTP status 400"))
        #expect(judge("HTTP/1.1 200 OK\r\n\r\n", statuses: [201...299]) == .failed("HTTP status 200"))
    }

    @Test("Interim answers are skipped")
    func interim() {
        #expect(
            judge("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n") == .answered
        )
        #expect(judge("HTTP/1.1 101 Switching\r\n\r\n") == .failed("HTTP status 101"))
    }

    @Test(
        "The body is searched however it is delimited, in whatever parts it comes",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world",
            "HTTP/1.1 200 OK\r\n\r\nhello world",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n6;x=y\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n",
        ], [1, 2, 7, .max])
    func bodies(text: String, size: Int) {
        #expect(judge(text, body: "hello world", partsOf: size) == .answered)
        #expect(judge(text, body: "o w", partsOf: size) == .answered)
        #expect(judge(text, body: "", partsOf: size) == .answered)
        #expect(judge(text, body: "hello worlds", partsOf: size) == Self.wrongBody)
    }

    @Test("A text that overlaps itself is found")
    func overlap() {
        #expect(judge("HTTP/1.1 200 OK\r\n\r\naabaabaaab", body: "aabaaab", partsOf: 1) == .answered)
        #expect(judge("HTTP/1.1 200 OK\r\n\r\naaaaaaab", body: "aaab") == .answered)
        #expect(judge("HTTP/1.1 200 OK\r\n\r\nababab", body: "abb") == Self.wrongBody)
    }

    @Test("What is behind the end of the body does not count")
    func behindTheEnd() {
        #expect(judge("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno yes", body: "yes") == Self.wrongBody)
        #expect(
            judge("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\nyes\r\n", body: "yes")
                == Self.wrongBody)
        #expect(judge("HTTP/1.1 204 No\r\n\r\nyes", body: "yes") == Self.wrongBody)
        #expect(judge("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nyes", body: "yes") == Self.wrongBody)
    }

    @Test(
        "What is no answer is called by its name",
        arguments: [
            ("", "the connection was closed without an answer"),
            ("-ERR unknown command 'GET'\r\n", "the answer is not HTTP"),
            ("SSH-2.0-OpenSSH_9.2", "the answer is not HTTP"), ("HTTP/1.1 2000 OK\r\n\r\n", "the answer is not HTTP"),
            ("HTTP/1.1 +20 OK\r\n\r\n", "the answer is not HTTP"), ("HTTP/2 200\r\n\r\n", "the answer is not HTTP"),
            ("HTTP/1.1 200 OK\r\nA: b\r\n", "the HTTP answer is cut off"),
        ])
    func strange(text: String, reason: String) {
        #expect(judge(text) == .failed(reason))
        #expect(judge(text, partsOf: 1) == .failed(reason))
    }

    @Test(
        "Malformed bodies are refused",
        arguments: [
            "Content-Length: -1\r\n\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "Content-Length: 99999999999999999999\r\n\r\n", "Content-Length: \r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\nx\r\n", "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
            "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        ])
    func malformedBodies(text: String) {
        #expect(judge("HTTP/1.1 200 OK\r\n" + text, body: "yes") == Self.malformed)
        #expect(judge("HTTP/1.1 200 OK\r\n" + text, body: "yes", partsOf: 1) == Self.malformed)
    }

    @Test("A body that is cut off, encoded or in an unknown encoding is not a success")
    func otherBodies() {
        let cut = ProbeResult.failed("the HTTP answer is cut off")
        #expect(judge("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", body: "o") == cut)
        #expect(judge("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell", body: "o") == cut)
        #expect(
            judge("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", body: "o")
                == .failed("the body of the HTTP answer has an unsupported encoding"))
    }

    @Test("A server that sends without end is cut off, at exactly the limits")
    func limits() {
        let head = "HTTP/1.1 200 OK\r\n"
        let room = HTTPAnswer.headerLimit - head.utf8.count - "A: \r\n\r\n".utf8.count
        func header(_ length: Int) -> String { "\(head)A: \(String(repeating: "x", count: length))\r\n\r\n" }
        for size in [1, 100, Int.max] {
            #expect(judge(header(room), partsOf: size) == .answered)
            #expect(judge(header(room + 1), partsOf: size) == .failed("the HTTP header is longer than 16 KiB"))
        }
        #expect(
            judge(String(repeating: "HTTP/1.1 100 C\r\n\r\n", count: 2_000))
                == .failed("the HTTP header is longer than 16 KiB"))
        let padding = String(repeating: "x", count: HTTPAnswer.bodyLimit - 3)
        #expect(judge("HTTP/1.1 200 OK\r\n\r\n\(padding)yes", body: "yes") == .answered)
        let late = ProbeResult.failed("the first 64 KiB of the HTTP answer's body do not contain what it must")
        #expect(judge("HTTP/1.1 200 OK\r\n\r\nx\(padding)yes", body: "yes") == late)
        let chunk = "1000\r\n\(String(repeating: "x", count: 0x1000))\r\n"
        let endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 20)
        #expect(judge(endless, body: "yes") == late)
    }

    @Test("Bytes of every kind, in every cut, are judged without a trap", arguments: 0..<20 as Range<UInt64>)
    func noise(seed: UInt64) {
        let pieces = [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 C\r\n", "\r\n", "Content-Length: 3\r\n",
            "Transfer-Encoding: chunked\r\n", "3\r\n", "0\r\n", "yes", "\u{0}\u{ff}", "A: b\r\n", "\n", ":", "fff\r\n",
        ]
        var state = seed
        func next() -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33)
        }
        for _ in 0..<500 {
            let text = "HTTP/1.1 200 OK\r\n" + (0..<next() % 12).map { _ in pieces[next() % pieces.count] }.joined()
            let whole = judge(text, body: "yes")
            #expect(judge(text, body: "yes", partsOf: 1) == whole, "\(text)")
            #expect(judge(text, body: "yes", partsOf: 1 + next() % 9) == whole, "\(text)")
        }
    }
}
