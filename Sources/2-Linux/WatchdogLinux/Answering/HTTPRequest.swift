// SPDX-License-Identifier: Apache-2.0

/// The head of an HTTP request, as far as a server of one text needs it.
public enum HTTPRequest: Hashable, Sendable {
    /// The end of the head has not come yet.
    case incomplete
    /// A GET of this path, without the query.
    case get(path: String)
    /// A HEAD of this path: the answer to a GET without its body.
    case head(path: String)
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
            let path = Self.path(of: words[1])
        else {
            self = .refused(.badRequest)
            return
        }
        switch String(decoding: words[0], as: UTF8.self) {
        case "GET": self = .get(path: path)
        case "HEAD": self = .head(path: path)
        default: self = .refused(.methodNotAllowed)
        }
    }

    /// The path of `/path?query`, or of `http://host/path?query`, as clients of a proxy ask: RFC 9112, 3.2.
    private static func path(of target: ArraySlice<UInt8>) -> String? {
        let slash = UInt8(ascii: "/")
        var path = target.prefix { $0 != UInt8(ascii: "?") }
        if path.first != slash {
            let colon = path.firstIndex(of: UInt8(ascii: ":")) ?? path.endIndex
            let scheme = String(decoding: path[..<colon], as: UTF8.self).lowercased()
            guard ["http", "https"].contains(scheme), path[colon...].starts(with: "://".utf8) else { return nil }
            let rest = path[colon...].dropFirst(3)
            guard let first = rest.first, first != slash else { return nil }
            path = rest.drop { $0 != slash }
        }
        return path.isEmpty ? "/" : String(decoding: path, as: UTF8.self)
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
        if self == .methodNotAllowed { head += "Allow: GET, HEAD\r\n" }
        return Array((head + "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n").utf8)
    }
}
