// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

/// A server's complete output, and how probes judge it.
struct HTTPAnswerRow: CustomTestStringConvertible, Sendable {
    enum Curl {
        /// curl(1) judges like the probe.
        case agrees
        /// curl rejects details that do not matter to a probe, and is less tolerant of odd input.
        case isStricter
        /// curl accepts meaningless input.
        case isLaxer
    }

    let testDescription: String
    let bytes: [UInt8]
    /// The failure by status only; nil for success.
    let byStatus: String?
    /// The failure with a body that must contain "healthy"; nil for success.
    let byBody: String?
    let curl: Curl

    init(_ name: String, _ text: String, _ byStatus: String? = nil, body: String? = nil, curl: Curl = .agrees) {
        (testDescription, bytes, self.curl) = (name, Array(text.utf8), curl)
        (self.byStatus, byBody) = (byStatus, byStatus ?? body)
    }

    static let all = statusLines + framings + chunks + lengths + fields + interim + others

    private static let okay = "HTTP/1.1 200 OK\r\n"
    private static let body = "Content-Length: 7\r\n\r\nhealthy"
    private static let chunked = okay + "Transfer-Encoding: chunked\r\n\r\n"

    private static let notHTTP = "the answer is not HTTP"
    private static let malformed = "the HTTP answer is malformed"
    private static let cutOff = "the HTTP answer is cut off"
    private static let absent = "the body of the HTTP answer does not contain what it must"
    private static let encoded = "the body of the HTTP answer has an unsupported encoding"

    private static let statusLines = [
        HTTPAnswerRow("plain", okay + body),
        HTTPAnswerRow("without a reason", "HTTP/1.1 200\r\n" + body),
        HTTPAnswerRow("an empty reason", "HTTP/1.1 200 \r\n" + body),
        HTTPAnswerRow("two blanks", "HTTP/1.1  200 OK\r\n" + body),
        HTTPAnswerRow("lower case", "http/1.1 200 ok\r\n" + body),
        HTTPAnswerRow("bare line feeds", "HTTP/1.0 200 OK\nContent-Type: text/plain\n\nhealthy"),
        HTTPAnswerRow("HTTP/2 in text", "HTTP/2 200\r\n" + body),
        HTTPAnswerRow("HTTP/2.0 in text", "HTTP/2.0 200 OK\r\n" + body),
        HTTPAnswerRow("HTTP/1.2, as RFC 9110, 2.5, has it", "HTTP/1.2 200 OK\r\n" + body, curl: .isStricter),
        HTTPAnswerRow("no blank before the reason", "HTTP/1.1 200OK\r\n" + body),
        HTTPAnswerRow("a tab before the reason", "HTTP/1.1 200\tOK\r\n" + body),
        HTTPAnswerRow("a reason of 50 kB", "HTTP/1.1 200 \(String(repeating: "x", count: 50_000))\r\n" + body),
        HTTPAnswerRow("a reason in Latin-1", "HTTP/1.1 200 \u{c3}\u{a9}t\u{c3}\u{a9}\r\n" + body),
        HTTPAnswerRow("an unknown status", "HTTP/1.1 600 Odd\r\n" + body, "HTTP status 600"),
        HTTPAnswerRow("a redirection, which is not followed", "HTTP/1.1 302 Found\r\nLocation: /x\r\n" + body),
        HTTPAnswerRow("an error", "HTTP/1.1 503 Busy\r\n" + body, "HTTP status 503"),
        HTTPAnswerRow("four digits", "HTTP/1.1 2000 OK\r\n" + body, notHTTP),
        HTTPAnswerRow("two digits", "HTTP/1.1 20 OK\r\n" + body, notHTTP),
        HTTPAnswerRow("below 100", "HTTP/1.1 099 OK\r\n" + body, notHTTP),
        HTTPAnswerRow("a sign", "HTTP/1.1 +20 OK\r\n" + body, notHTTP),
        HTTPAnswerRow("no minor version", "HTTP/1 200 OK\r\n" + body, notHTTP),
        HTTPAnswerRow("no version", "HTTP 200 OK\r\n" + body, notHTTP),
        HTTPAnswerRow("HTTP/3", "HTTP/3 200 OK\r\n" + body, notHTTP),
        HTTPAnswerRow("HTTP/0.9", "HTTP/0.9 200 OK\r\n" + body, notHTTP),
        HTTPAnswerRow("a tab before the status", "HTTP/1.1\t200 OK\r\n" + body, notHTTP),
        HTTPAnswerRow("an empty line first", "\r\n" + okay + body, notHTTP),
        HTTPAnswerRow("a blank first", " " + okay + body, notHTTP),
        HTTPAnswerRow("carriage returns only", "HTTP/1.1 200 OK\r" + "Content-Length: 7\r\rhealthy", cutOff),
        HTTPAnswerRow("no end of the line", "HTTP/1.1 200 OK", cutOff),
        HTTPAnswerRow("nothing but the line", okay, body: cutOff),
        HTTPAnswerRow("SHOUTcast", "ICY 200 OK\r\n\r\nhealthy", notHTTP),
        HTTPAnswerRow("RTSP", "RTSP/1.0 200 OK\r\n\r\nhealthy", notHTTP),
        HTTPAnswerRow("HTTP/0.9: a page without a header", "<html>healthy</html>", notHTTP),
        HTTPAnswerRow("SSH", "SSH-2.0-OpenSSH_9.2\r\n", notHTTP),
        HTTPAnswerRow("redis", "-ERR unknown command\r\n", notHTTP),
        HTTPAnswerRow("SMTP", "220 mail ESMTP\r\n", notHTTP),
        HTTPAnswerRow("an alert of TLS", "\u{15}\u{3}\u{1}\0\u{2}\u{2}F", notHTTP),
        HTTPAnswerRow("nothing", "", "the connection was closed without an answer"),
    ]

    private static let framings = [
        HTTPAnswerRow("until the end of the connection", okay + "\r\nhealthy"),
        HTTPAnswerRow("kept alive without a length", okay + "Connection: keep-alive\r\n\r\nhealthy"),
        HTTPAnswerRow("identity", okay + "Transfer-Encoding: identity\r\n" + body),
        HTTPAnswerRow("identity without a length", okay + "Transfer-Encoding: identity\r\n\r\nhealthy"),
        HTTPAnswerRow(
            "identity, chunked", okay + "Transfer-Encoding: identity, chunked\r\n\r\n7\r\nhealthy\r\n0\r\n\r\n"),
        HTTPAnswerRow(
            "chunked, identity", okay + "Transfer-Encoding: chunked, identity\r\n\r\n7\r\nhealthy\r\n0\r\n\r\n"),
        HTTPAnswerRow(
            "chunked twice",
            okay + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nhealthy\r\n0\r\n\r\n"),
        HTTPAnswerRow("no coding", okay + "Transfer-Encoding: \r\n" + body),
        HTTPAnswerRow(
            "HTTP/1.0 in chunks", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nhealthy\r\n0\r\n\r\n"),
        HTTPAnswerRow("an unknown coding", okay + "Transfer-Encoding: foo\r\n" + body, body: encoded),
        HTTPAnswerRow(
            "compressed chunks", okay + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", body: encoded),
        HTTPAnswerRow(
            "compressed", okay + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\u{1f}\u{1}",
            body: absent + ": it is encoded, by its Content-Encoding"),
        HTTPAnswerRow("said to be encoded", okay + "Content-Encoding: utf-8\r\n" + body),
        HTTPAnswerRow("not encoded", okay + "Content-Encoding: identity\r\n" + body),
        HTTPAnswerRow("no content", "HTTP/1.1 204 No\r\n" + body, body: absent),
        HTTPAnswerRow("not modified", "HTTP/1.1 304 No\r\n" + body, body: absent),
        HTTPAnswerRow("reset content, which has some", "HTTP/1.1 205 No\r\n" + body),
    ]

    private static let chunks = [
        HTTPAnswerRow("two chunks", chunked + "4\r\nheal\r\n3\r\nthy\r\n0\r\n\r\n"),
        HTTPAnswerRow(
            "extensions and a trailer", chunked + "4;a=b\r\nheal\r\n3 ; x=\"y\"\r\nthy\r\n0;z\r\nDigest: x\r\n\r\n"),
        HTTPAnswerRow("padded sizes", chunked + "4   \r\nheal\r\n003\r\nthy\r\n0\r\n\r\n"),
        HTTPAnswerRow("a blank before the size", chunked + "  7\r\nhealthy\r\n0\r\n\r\n", curl: .isStricter),
        HTTPAnswerRow(
            "leading zeros", chunked + String(repeating: "0", count: 30) + "7\r\nhealthy\r\n0\r\n\r\n",
            curl: .isStricter),
        HTTPAnswerRow("bare line feeds", chunked + "7\nhealthy\n0\n\n"),
        HTTPAnswerRow(
            "a long extension", chunked + "7;\(String(repeating: "x", count: 5_000))\r\nhealthy\r\n0\r\n\r\n"),
        HTTPAnswerRow("hexadecimal sizes", chunked + "A\r\nhealthy123\r\n0\r\n\r\n"),
        HTTPAnswerRow("no last chunk", chunked + "7\r\nhealthy\r\n"),
        HTTPAnswerRow("cut off within", chunked + "7\r\nheal", body: cutOff),
        HTTPAnswerRow("cut off between", chunked + "4\r\nheal\r\n", body: cutOff),
        HTTPAnswerRow("no text", chunked + "4\r\nheal\r\n0\r\n\r\n", body: absent),
        HTTPAnswerRow("the text in the trailer", chunked + "1\r\nx\r\n0\r\nX: healthy\r\n\r\n", body: absent),
        HTTPAnswerRow("the text in an extension", chunked + "1;healthy\r\nx\r\n0\r\n\r\n", body: absent),
        HTTPAnswerRow("no size", chunked + "x\r\nhealthy\r\n0\r\n\r\n", body: malformed),
        HTTPAnswerRow("an empty size", chunked + "\r\nhealthy\r\n0\r\n\r\n", body: malformed),
        HTTPAnswerRow("a sign", chunked + "-7\r\nhealthy\r\n0\r\n\r\n", body: malformed),
        HTTPAnswerRow("a prefix", chunked + "0x7\r\nhealthy\r\n0\r\n\r\n", body: malformed),
        HTTPAnswerRow("too large a number", chunked + "ffffffffffffffff\r\nhealthy", body: malformed),
        HTTPAnswerRow("more than the size", chunked + "1\r\nhealthy\r\n0\r\n\r\n", body: malformed),
    ]

    private static let lengths = [
        HTTPAnswerRow("a length twice", okay + "Content-Length: 7\r\n" + body),
        HTTPAnswerRow("a length in a list", okay + "Content-Length: 7, 7\r\n\r\nhealthy"),
        HTTPAnswerRow("leading zeros", okay + "Content-Length: \(String(repeating: "0", count: 30))7\r\n\r\nhealthy"),
        HTTPAnswerRow("a sign", okay + "Content-Length: +7\r\n\r\nhealthy"),
        HTTPAnswerRow("a unit", okay + "Content-Length: 7 bytes\r\n\r\nhealthy"),
        HTTPAnswerRow("no number holds it", okay + "Content-Length: 99999999999999999999\r\n\r\nhealthy"),
        HTTPAnswerRow(
            "a length of chunks",
            okay + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nhealthy\r\n0\r\n\r\n"),
        HTTPAnswerRow("more than the length", okay + "Content-Length: 4\r\n\r\nhealthy", body: absent),
        HTTPAnswerRow("less, but enough", okay + "Content-Length: 9\r\n\r\nhealthy"),
        HTTPAnswerRow("less", okay + "Content-Length: 9\r\n\r\nheal", body: cutOff),
        HTTPAnswerRow("zero", okay + "Content-Length: 0\r\n\r\nhealthy", body: absent),
        HTTPAnswerRow("two lengths", okay + "Content-Length: 3\r\n" + body, body: malformed, curl: .isLaxer),
        HTTPAnswerRow("two in a list", okay + "Content-Length: 7, 3\r\n\r\nhealthy", body: malformed, curl: .isLaxer),
        HTTPAnswerRow("negative", okay + "Content-Length: -1\r\n\r\nhealthy", body: malformed),
        HTTPAnswerRow("empty", okay + "Content-Length: \r\n\r\nhealthy", body: malformed),
        HTTPAnswerRow("a word", okay + "Content-Length: x\r\n\r\nhealthy", body: malformed),
        HTTPAnswerRow("a quoted number", okay + "Content-Length: \"7\"\r\n\r\nhealthy", body: malformed),
    ]

    private static let fields = [
        HTTPAnswerRow(
            "twenty large cookies",
            okay + (0..<20).map { "Set-Cookie: c\($0)=\(String(repeating: "x", count: 1_000))\r\n" }.joined() + body),
        HTTPAnswerRow("a field of 90 kB", okay + "X: \(String(repeating: "x", count: 90_000))\r\n" + body),
        HTTPAnswerRow(
            "a field of 300 kB", okay + "X: \(String(repeating: "x", count: 300_000))\r\n" + body, curl: .isStricter),
        HTTPAnswerRow("a folded field", okay + "X-A: 1\r\n  more\r\n" + body),
        HTTPAnswerRow("a folded length", okay + "Content-Length:\r\n 4\r\n\r\nhealthy", body: absent),
        HTTPAnswerRow(
            "a folded coding", okay + "Transfer-Encoding:\r\n\tchunked\r\n\r\n4\r\nheal\r\n3\r\nthy\r\n0\r\n\r\n",
            curl: .isStricter),
        HTTPAnswerRow("a blank before the colon", okay + "Content-Length : 7\r\n\r\nhealthy"),
        HTTPAnswerRow("no colon", okay + "garbage\r\n" + body, curl: .isStricter),
        HTTPAnswerRow("NUL", okay + "A: \0\r\n" + body, curl: .isStricter),
        HTTPAnswerRow("no fields", okay + "\r\nhealthy"),
        HTTPAnswerRow("no blank after the colon", okay + "content-length:7\r\n\r\nhealthy"),
        HTTPAnswerRow("the text in the header only", okay + "X: healthy\r\nContent-Length: 1\r\n\r\nx", body: absent),
    ]

    private static let interim = [
        HTTPAnswerRow("100", "HTTP/1.1 100 Continue\r\n\r\n" + okay + body),
        HTTPAnswerRow(
            "103 with fields", "HTTP/1.1 103 Hints\r\nLink: </a>\r\nContent-Length: 99\r\n\r\n" + okay + body),
        HTTPAnswerRow("102 without carriage returns", "HTTP/1.1 102 Processing\n\n" + okay + body),
        HTTPAnswerRow(
            "100, 102 and 103", ["100 C", "102 P", "103 H"].map { "HTTP/1.1 \($0)\r\n\r\n" }.joined() + okay + body),
        HTTPAnswerRow("an unknown one", "HTTP/1.1 199 Odd\r\n\r\n" + okay + body),
        HTTPAnswerRow("before an error", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\n\r\n", "HTTP status 500"),
        HTTPAnswerRow("no final status", "HTTP/1.1 100 Continue\r\n\r\n", cutOff),
        HTTPAnswerRow("an empty line between", "HTTP/1.1 100 Continue\r\n\r\n\r\n" + okay + body, notHTTP),
        HTTPAnswerRow("another protocol", "HTTP/1.1 101 Switching\r\n\r\n", "HTTP status 101"),
    ]

    private static let others = [
        HTTPAnswerRow("another text", okay + "Content-Length: 7\r\n\r\nwealthy", body: absent),
        HTTPAnswerRow(
            "a second answer behind the first", okay + "Content-Length: 1\r\n\r\nx" + okay + body, body: absent),
    ]
}
