// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetworkConditioner
import SampleSupport

/// Serves the catalogue over HTTP/1.1, as slowly as configured.
///
/// Isolation: one thread, the one that calls ``run()``.
final class HTTPServer {
    private static let connectionLimit = 256
    /// The time to keep reading after the last answer: closing at once would reset the connection while the client
    /// still sends, and the client would lose the answer (RFC 9112, section 9.6).
    private static let lingering = Duration.seconds(1)

    /// The delay before an answer.
    enum Delay: Sendable {
        case time(Duration)
        case forever
    }

    fileprivate struct Connection {
        let descriptor: Int32
        var input: [UInt8] = []
        var output: [UInt8] = []
        var written = 0
        /// Nothing more is read, but the remaining output is written.
        var isClosing = false
        /// The pending answer is the last one.
        var isLast = false
        /// The time at which the pending answer is sent; nil without one.
        var answerDue: Duration?
        var answer: [UInt8] = []
        /// The time at which the connection is closed after the last answer; nil before.
        var end: Duration?
    }

    let address: SocketAddress
    private let listener: Int32
    private let catalogue: Catalogue
    private let delays: [String: Delay]
    private var connections: [Connection] = []

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init(_ address: SocketAddress, _ catalogue: Catalogue, delays: [String: Delay]) throws(Failure) {
        let listener = socket(
            address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var on: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout.size(ofValue: on)))
        guard listener >= 0, address.withPointer({ bind(listener, $0, $1) }) == 0, listen(listener, 128) == 0 else {
            throw Failure(description: "cannot listen on \(address): \(String(cString: strerror(errno)))")
        }
        self.listener = listener
        self.address = SocketAddress(boundBy: listener)
        self.catalogue = catalogue
        self.delays = delays
    }

    func run() {
        while true {
            var waits = [
                pollfd(
                    fd: connections.count < Self.connectionLimit ? listener : -1, events: Int16(POLLIN), revents: 0)
            ]
            waits += connections.map { connection in
                pollfd(fd: connection.descriptor, events: connection.events, revents: 0)
            }
            poll(&waits, nfds_t(waits.count), timeout)
            for index in connections.indices {
                service(&connections[index], waits[index + 1].revents)
            }
            connections.removeAll { connection in
                guard let end = connection.end, end <= ProcessClock.now else { return false }
                close(connection.descriptor)
                return true
            }
            if waits[0].revents != 0 { accept() }
        }
    }

    private var timeout: Int32 {
        guard let due = connections.flatMap({ [$0.answerDue, $0.end].compactMap(\.self) }).min() else { return -1 }
        return Int32(max(0, min(3_600_000, ((due - ProcessClock.now).seconds * 1000).rounded(.up))))
    }

    private func accept() {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        connections.append(Connection(descriptor: descriptor))
    }

    private func service(_ connection: inout Connection, _ events: Int16) {
        if events & Int16(POLLIN | POLLHUP | POLLERR) != 0 { Self.read(&connection) }
        if let due = connection.answerDue, due <= ProcessClock.now {
            connection.output += connection.answer
            (connection.answerDue, connection.answer) = (nil, [])
            connection.isClosing = connection.isClosing || connection.isLast
        }
        // One request at a time: pipelined requests wait for its answer.
        while connection.answerDue == nil, !connection.isClosing, consumeRequest(&connection) {}
        Self.write(&connection)
        if connection.isClosing, connection.output.isEmpty, connection.end == nil {
            shutdown(connection.descriptor, Int32(SHUT_WR))
            connection.end = ProcessClock.now + Self.lingering
        }
    }

    private static func read(_ connection: inout Connection) {
        var buffer = [UInt8](repeating: 0, count: HTTPRequest.largestHead)
        let count = recv(connection.descriptor, &buffer, buffer.count, 0)
        guard count > 0 else {
            guard count == 0 || (errno != EAGAIN && errno != EINTR) else { return }
            (connection.isClosing, connection.output, connection.answerDue) = (true, [], nil)
            connection.end = .zero
            return
        }
        if !connection.isClosing { connection.input += buffer.prefix(count) }
    }

    private static func write(_ connection: inout Connection) {
        while connection.written < connection.output.count {
            let count = connection.output.withUnsafeBytes { bytes in
                send(
                    connection.descriptor, bytes.baseAddress.map { $0 + connection.written },
                    bytes.count - connection.written, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else {
                if errno != EAGAIN, errno != EINTR { (connection.isClosing, connection.output) = (true, []) }
                return
            }
            connection.written += count
        }
        (connection.output, connection.written) = ([], 0)
    }

    private func consumeRequest(_ connection: inout Connection) -> Bool {
        switch HTTPRequest.parse(connection.input) {
        case .incomplete:
            return false
        case .refused(let status):
            connection.output += Self.answer(status, isLast: true)
            connection.isClosing = true
            return false
        case .request(let request, let length):
            connection.input.removeFirst(length)
            let answer = answer(to: request)
            connection.isLast = !request.keepsConnection
            switch delays[request.path] {
            case nil:
                connection.output += answer
                connection.isClosing = connection.isLast
            case .time(let time)?:
                connection.answer = answer
                connection.answerDue = ProcessClock.now + time
            case .forever?:
                connection.answerDue = .seconds(1 << 40)
            }
            return true
        }
    }

    private func answer(to request: HTTPRequest) -> [UInt8] {
        let isLast = !request.keepsConnection
        guard request.method == "GET" || request.method == "HEAD" else { return Self.answer(405, isLast: isLast) }
        guard let document = catalogue[request.path] else { return Self.answer(404, isLast: isLast) }
        let head = Self.head(200, type: document.type, length: document.body.count, isLast: isLast)
        return request.method == "HEAD" ? head : head + document.body
    }

    private static func answer(_ status: Int, isLast: Bool) -> [UInt8] {
        let body = Array("\(HTTPRequest.reason(status))\n".utf8)
        return head(status, type: "text/plain", length: body.count, isLast: isLast) + body
    }

    private static func head(_ status: Int, type: String, length: Int, isLast: Bool) -> [UInt8] {
        let connection = isLast ? "Connection: close\r\n" : ""
        let allow = status == 405 ? "Allow: GET, HEAD\r\n" : ""
        let head = """
            HTTP/1.1 \(status) \(HTTPRequest.reason(status))\r\nContent-Type: \(type)\r\n\
            Content-Length: \(length)\r\n\(connection)\(allow)\r\n
            """
        return Array(head.utf8)
    }
}

extension HTTPServer.Connection {
    /// Reads nothing while an answer is being sent: a client that wants more must first read the answer.
    fileprivate var events: Int16 {
        if !output.isEmpty { return Int16(POLLOUT) }
        return input.count < HTTPRequest.largestHead ? Int16(POLLIN) : 0
    }
}
