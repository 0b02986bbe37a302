// SPDX-License-Identifier: Apache-2.0

/// The head of a request, RFC 9112, as far as a server of fixed documents needs it.
struct HTTPRequest {
    enum Outcome {
        /// More bytes are needed.
        case incomplete
        /// A request, and its length in bytes.
        case request(HTTPRequest, length: Int)
        /// The status of the error response, after which the connection is closed.
        case refused(Int)
    }

    static let largestHead = 8192

    let method: String
    let path: String
    let keepsConnection: Bool

    static func parse(_ bytes: [UInt8]) -> Outcome {
        let end: [UInt8] = [13, 10, 13, 10]
        guard bytes.count >= end.count,
            let blank = (0...min(bytes.count, largestHead) - end.count).first(where: { bytes[$0...].starts(with: end) })
        else { return bytes.count >= largestHead ? .refused(431) : .incomplete }
        let lines = String(decoding: bytes[..<blank], as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines.first?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard words.count == 3, !words[0].isEmpty, words[1].hasPrefix("/") else { return .refused(400) }
        guard words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else { return .refused(505) }
        var keepsConnection = words[2] == "HTTP/1.1"
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let last = parts[0].last, last != " ", last != "\t" else { return .refused(400) }
            let value = parts[1].lowercased().filter { $0 != " " && $0 != "\t" }
            switch parts[0].lowercased() {
            case "connection" where value == "close": keepsConnection = false
            case "connection" where value == "keep-alive": keepsConnection = true
            // Requests with a body are not supported.
            case "transfer-encoding": return .refused(400)
            case "content-length" where value != "0": return .refused(413)
            default: break
            }
        }
        let path = words[1].prefix { $0 != "?" }
        let request = HTTPRequest(method: String(words[0]), path: String(path), keepsConnection: keepsConnection)
        return .request(request, length: blank + end.count)
    }

    static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 400: "Bad Request"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 413: "Content Too Large"
        case 431: "Request Header Fields Too Large"
        default: "HTTP Version Not Supported"
        }
    }
}
