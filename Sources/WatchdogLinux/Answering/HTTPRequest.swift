// SPDX-License-Identifier: Apache-2.0

/// The head of an HTTP request, as far as a server of one text needs it.
public enum HTTPRequest: Hashable, Sendable {
    /// The end of the head has not come yet.
    case incomplete
    /// A GET of this path, without the query.
    case get(path: String)
    /// Something else; the status to answer with.
    case refused(HTTPStatus)

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - bytes: what came so far.
    ///   - limit: how long a head may be.
    public init(_ bytes: [UInt8], limit: Int) {
        guard let line = Self.line(ofHead: bytes) else {
            self = bytes.count >= limit ? .refused(.headTooLarge) : .incomplete
            return
        }
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        let isWord = { (word: ArraySlice<UInt8>) in !word.isEmpty && word.allSatisfy { (0x21...0x7e).contains($0) } }
        guard words.count == 3, words.allSatisfy(isWord), words[2].starts(with: "HTTP/1.".utf8),
            words[1].first == UInt8(ascii: "/")
        else {
            self = .refused(.badRequest)
            return
        }
        guard words[0].elementsEqual("GET".utf8) else {
            self = .refused(.methodNotAllowed)
            return
        }
        self = .get(path: String(decoding: words[1].prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self))
    }

    /// The first line, once the empty line that ends the head has come; lines may end without a carriage return.
    private static func line(ofHead bytes: [UInt8]) -> ArraySlice<UInt8>? {
        let newline = UInt8(ascii: "\n")
        let carriageReturn = UInt8(ascii: "\r")
        var first: ArraySlice<UInt8>?
        var rest = bytes[...]
        while let end = rest.firstIndex(of: newline) {
            var line = rest[..<end]
            if line.last == carriageReturn { line = line.dropLast() }
            if line.isEmpty, let first { return first }
            // Empty lines before the request are skipped: RFC 9112, 2.2.
            if !line.isEmpty, first == nil { first = line }
            rest = rest[(end + 1)...]
        }
        return nil
    }
}

/// The statuses that a server of one text answers with.
public enum HTTPStatus: String, Hashable, Sendable, CaseIterable {
    case okay = "200 OK"
    case badRequest = "400 Bad Request"
    case notFound = "404 Not Found"
    case methodNotAllowed = "405 Method Not Allowed"
    case headTooLarge = "431 Request Header Fields Too Large"
    case unavailable = "503 Service Unavailable"

    /// The head of an answer after which the connection is closed.
    func head(contentType: String, length: Int) -> [UInt8] {
        var head = "HTTP/1.1 \(rawValue)\r\nContent-Type: \(contentType)\r\nContent-Length: \(length)\r\n"
        if self == .methodNotAllowed { head += "Allow: GET\r\n" }
        return Array((head + "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n").utf8)
    }
}
