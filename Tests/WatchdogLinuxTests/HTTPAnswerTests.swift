// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The response to an HTTP probe")
struct HTTPAnswerTests {
    /// Judges a response that arrives in parts and then ends.
    private func judge(
        _ parts: [[UInt8]], body: String? = nil, statuses: [ClosedRange<Int>] = [200...399]
    ) -> ProbeResult {
        var answer = HTTPAnswer(expecting: .init(statuses: statuses, body: body))
        for part in parts { if let result = answer.receive(part) { return result } }
        return answer.end()
    }

    private func judge(_ bytes: [UInt8], body: String? = nil, partsOf size: Int = .max) -> ProbeResult {
        let starts = bytes.isEmpty ? [] : size >= bytes.count ? [0] : Array(stride(from: 0, to: bytes.count, by: size))
        return judge(starts.map { Array(bytes[$0...].prefix(size)) }, body: body)
    }

    private func judge(_ text: String, body: String? = nil, partsOf size: Int = .max) -> ProbeResult {
        judge(Array(text.utf8), body: body, partsOf: size)
    }

    private func judge(_ text: String, statuses: [ClosedRange<Int>]) -> ProbeResult {
        judge([Array(text.utf8)], statuses: statuses)
    }

    private static let wrongBody = ProbeResult.failed("the body of the HTTP answer does not contain what it must")

    @Test("is judged by its status or by its body, as the table specifies", arguments: HTTPAnswerRow.all)
    func table(row: HTTPAnswerRow) {
        #expect(judge(row.bytes) == row.byStatus.map { .failed($0) } ?? .answered)
        #expect(judge(row.bytes, body: "healthy") == row.byBody.map { .failed($0) } ?? .answered)
    }

    @Test("is judged alike, wherever it is split", arguments: HTTPAnswerRow.all)
    func cuts(row: HTTPAnswerRow) {
        var generator = SeededGenerator(seed: testSeed)
        for body in [nil, "healthy"] {
            let whole = judge(row.bytes, body: body)
            // Every position of a short response, and some of a long one.
            let all = row.bytes.count <= 300 ? Array(0...row.bytes.count) : []
            let places = all + (0..<8).map { _ in generator.below(row.bytes.count + 1) }
            for place in places {
                let parts = [Array(row.bytes.prefix(place)), Array(row.bytes.dropFirst(place))]
                #expect(judge(parts, body: body) == whole, "cut at \(place), seed \(testSeed)")
            }
            #expect(judge(row.bytes, body: body, partsOf: 1) == whole)
            var parts: [[UInt8]] = []
            var rest = row.bytes[...]
            while !rest.isEmpty {
                let part = rest.prefix(1 + generator.below(40))
                parts.append(Array(part))
                rest = rest.dropFirst(part.count)
            }
            #expect(judge(parts, body: body) == whole, "seed \(testSeed)")
        }
    }

    @Test("is decided at the status line without a body, or at the text with one, without waiting for more")
    func early() {
        func decides(_ text: String, body: String? = nil, _ result: ProbeResult = .answered) {
            var answer = HTTPAnswer(expecting: .init(statuses: [200...399], body: body))
            #expect(answer.receive(Array(text.utf8.dropLast())) == nil, "\(text)")
            #expect(answer.receive([text.utf8.last ?? 0]) == result, "\(text)")
        }
        decides("HTTP/1.1 200 OK\r\n")
        decides("HTTP/1.1 200\n")
        decides("HTTP/1.1 404 Not Found\r\n", .failed("HTTP status 404"))
        decides("HTTP/1.1 404 Not Found\r\n", body: "healthy", .failed("HTTP status 404"))
        decides("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
        decides("HTTP/1.1 200 OK\r\n", body: "")
        decides("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nhealthy", body: "healthy")
        decides("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhealthy", body: "healthy")
        decides("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n99\r\nhealthy", body: "healthy")
        // With the text missing, a connection that stays open makes no difference either.
        decides("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nwealthy", body: "healthy", Self.wrongBody)
        decides("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body: "healthy", Self.wrongBody)
        decides("HTTP/1.1 204 No\r\n\r\n", body: "healthy", Self.wrongBody)
        decides("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", body: "healthy", Self.wrongBody)
    }

    @Test("must have one of the accepted statuses")
    func statuses() {
        #expect(judge("HTTP/1.1 204 No Content\n\n", statuses: [100...100, 204...206]) == .answered)
        #expect(judge("HTTP/1.1 101 Switching\r\n", statuses: [101...101]) == .answered)
        #expect(judge("HTTP/1.1 399 Odd\r\n") == .answered)
        #expect(judge("HTTP/1.1 400 Bad\r\n") == .failed("HTTP status 400"))
        #expect(judge("HTTP/1.1 200 OK\r\n", statuses: [201...299]) == .failed("HTTP status 200"))
    }

    @Test("A text that overlaps itself is found")
    func overlap() {
        #expect(judge("HTTP/1.1 200 OK\r\n\r\naabaabaaab", body: "aabaaab", partsOf: 1) == .answered)
        #expect(judge("HTTP/1.1 200 OK\r\n\r\naaaaaaab", body: "aaab") == .answered)
        #expect(judge("HTTP/1.1 200 OK\r\n\r\nababab", body: "abb") == Self.wrongBody)
    }

    @Test("A server that sends endlessly is cut off exactly at the limits")
    func limits() {
        let head = "HTTP/1.1 200 OK\r\n"
        let room = HTTPReader.framingLimit - head.utf8.count - "A: \r\n\r\n".utf8.count
        func header(_ length: Int) -> String { "\(head)A: \(String(repeating: "x", count: length))\r\n\r\nyes" }
        let tooLong = ProbeResult.failed("the HTTP header is longer than 1 MiB")
        for size in [4_096, Int.max] {
            #expect(judge(header(room), body: "yes", partsOf: size) == .answered)
            #expect(judge(header(room + 1), body: "yes", partsOf: size) == tooLong)
            #expect(judge(header(room + 1), partsOf: size) == .answered, "by its status")
        }
        #expect(judge(String(repeating: "HTTP/1.1 100 C\r\n\r\n", count: 60_000), partsOf: 16_384) == tooLong)
        #expect(judge("HTTP/1.1 200 " + String(repeating: "x", count: HTTPReader.framingLimit)) == tooLong)
        let extensions = "1;\(String(repeating: "x", count: 1 << 16))\r\nx\r\n"
        #expect(
            judge(
                "\(head)Transfer-Encoding: chunked\r\n\r\n" + String(repeating: extensions, count: 17), body: "yes",
                partsOf: 16_384) == .failed("the HTTP answer is malformed"))
        let padding = String(repeating: "x", count: HTTPAnswer.bodyLimit - 3)
        #expect(judge("HTTP/1.1 200 OK\r\n\r\n\(padding)yes", body: "yes") == .answered)
        let late = ProbeResult.failed("the first 64 KiB of the HTTP answer's body do not contain what it must")
        #expect(judge("HTTP/1.1 200 OK\r\n\r\nx\(padding)yes", body: "yes") == late)
        let chunk = "1000\r\n\(String(repeating: "x", count: 0x1000))\r\n"
        let endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 20)
        #expect(judge(endless, body: "yes") == late)
    }

    @Test("Random bytes, split anywhere, are judged without a trap", arguments: 0..<20 as Range<UInt64>)
    func noise(number: UInt64) {
        let pieces = [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 C\r\n", "\r\n", "Content-Length: 3\r\n",
            "Transfer-Encoding: chunked\r\n", "3\r\n", "0\r\n", "yes", "\u{0}\u{ff}", "A: b\r\n", "\n", ":", "fff\r\n",
        ]
        var generator = SeededGenerator(seed: testSeed &+ number)
        for _ in 0..<500 {
            let text = "HTTP/1.1 200 OK\r\n" + (0..<generator.below(12)).map { _ in generator.pick(pieces) }.joined()
            let whole = judge(text, body: "yes")
            #expect(judge(text, body: "yes", partsOf: 1) == whole, "\(text)")
            #expect(judge(text, body: "yes", partsOf: 1 + generator.below(9)) == whole, "\(text)")
        }
    }
}
