// SPDX-License-Identifier: Apache-2.0

import Glibc
package import NetworkConditioner

/// An HTTP/1.1 client with one connection per request.
///
/// It blocks the calling thread: use it on a background queue.
package struct HTTPClient: Sendable {
    /// A failed request.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private static let largestHeader = 16384
    private static let largestBody = 16 << 20
    /// The interval in milliseconds at which a waiting download checks for cancellation.
    private static let slice: Int32 = 20

    package let server: SocketAddress

    package init(_ server: SocketAddress) {
        self.server = server
    }

    /// Returns the body of the response to a GET.
    ///
    /// - Parameter isCancelled: Called repeatedly. Without it, a request has no time limit.
    @inline(never)
    package func get(_ path: String, isCancelled: (() -> Bool)? = nil) throws(Failure) -> [UInt8] {
        let descriptor = socket(server.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Self.failure("make a socket for", path) }
        defer { close(descriptor) }
        guard server.withPointer({ connect(descriptor, $0, $1) }) == 0 else { throw Self.failure("connect for", path) }
        let request = "GET \(path) HTTP/1.1\r\nHost: \(server)\r\nConnection: close\r\n\r\n"
        guard send(descriptor, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count else {
            throw Self.failure("ask for", path)
        }
        return try Self.body(of: receive(descriptor, path, isCancelled), path)
    }

    private func receive(_ descriptor: Int32, _ path: String, _ isCancelled: (() -> Bool)?) throws(Failure) -> [UInt8] {
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            while let isCancelled, poll(&wait, 1, Self.slice) == 0 {
                if isCancelled() { throw Failure(description: "\(path): cancelled") }
            }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            // The request has `Connection: close`, so the end of the stream ends the response.
            if count == 0 { return answer }
            guard count > 0 || errno == EINTR else { throw Self.failure("read", path) }
            answer += buffer.prefix(max(0, count))
            guard answer.count <= Self.largestHeader + Self.largestBody else {
                throw Failure(description: "\(path): too large")
            }
        }
    }

    private static func body(of answer: [UInt8], _ path: String) throws(Failure) -> [UInt8] {
        let end: [UInt8] = [13, 10, 13, 10]
        let limit = max(0, min(answer.count, largestHeader) - end.count)
        guard let blank = (0...limit).first(where: { answer[$0...].starts(with: end) }) else {
            throw Failure(description: "\(path): the answer is cut off")
        }
        let header = String(decoding: answer[..<blank], as: UTF8.self)
        guard header.hasPrefix("HTTP/1.1 200 ") else {
            throw Failure(description: "\(path): \(header.prefix { !$0.isNewline })")
        }
        let length = header.split(whereSeparator: \.isNewline).compactMap { line -> Int? in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
            return Int(parts[1].filter(\.isNumber))
        }
        let body = answer[(blank + end.count)...]
        guard length.first ?? body.count == body.count else { throw Failure(description: "\(path): cut off") }
        return Array(body)
    }

    private static func failure(_ operation: String, _ path: String) -> Failure {
        Failure(description: "cannot \(operation) \(path): \(String(cString: strerror(errno)))")
    }
}
