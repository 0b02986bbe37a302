// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// One GET request, which keeps its thread until it is answered: for commands, never for the loop.
///
/// The server controls every byte: the time and the size of its answer are bounded, and no redirection is followed.
public struct WebRequest: Sendable {
    /// Why there is no answer, worded to follow the server's address.
    public struct Failure: Error, Hashable, Sendable {
        /// "refuses the connection", "answers with the HTTP status 503".
        public let reason: String
    }

    /// An answer.
    public struct Answer: Hashable, Sendable {
        /// The status code, from 100 to 599.
        public let status: Int
        /// The body.
        public let body: [UInt8]
    }

    private static let headerLimit = 16 << 10
    /// The most addresses of a name that are tried.
    private static let addressLimit = 8

    /// The server.
    public let address: WebAddress
    /// The time for everything but the lookup of the name, which the resolver limits: resolv.conf(5).
    public var timeout: Duration = .seconds(30)
    /// The most bytes of a body.
    public var bodyLimit = 16 << 20

    /// Prepares a request.
    public init(to address: WebAddress) {
        self.address = address
    }

    /// Asks for a path, below that of the address, and waits.
    ///
    /// - Parameter path: `/name?query`, encoded.
    public func get(_ path: String) throws(Failure) -> Answer {
        let deadline = Instant.now() + timeout
        let connection = try connect(until: deadline)
        // HTTP/1.0: the body comes in one piece, and ends with the connection.
        let request = "GET \(address.prefix)\(path) HTTP/1.0\r\nHost: \(address.authority)\r\nAccept: */*\r\n\r\n"
        try send(Array(request.utf8), to: connection, until: deadline)
        return try Self.parse(receive(from: connection, until: deadline), limit: bodyLimit)
    }

    // MARK: - Connecting

    private func connect(until deadline: Instant) throws(Failure) -> OwnedDescriptor {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address.host, address.port, &hints, &found)
        guard code == 0 else { throw Failure(reason: "is unknown: \(String(cString: gai_strerror(code)))") }
        defer { freeaddrinfo(found) }
        var failure = Failure(reason: "has no address")
        var candidate = found
        for _ in 0..<Self.addressLimit {
            guard let entry = candidate?.pointee else { break }
            do throws(Failure) {
                // One address that does not answer leaves time for the others.
                let isLast = entry.ai_next == nil
                return try connect(to: entry, until: isLast ? deadline : min(deadline, .now() + timeout / 4))
            } catch {
                failure = error
            }
            candidate = entry.ai_next
        }
        throw failure
    }

    private func connect(to entry: addrinfo, until deadline: Instant) throws(Failure) -> OwnedDescriptor {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let number = socket(entry.ai_family, kind, 0)
        guard number >= 0 else { throw Failure(reason: "cannot be asked: \(Errno.current)") }
        let connection = OwnedDescriptor(taking: number)
        if Glibc.connect(number, entry.ai_addr, entry.ai_addrlen) != 0 {
            guard Errno.current == Errno(rawValue: EINPROGRESS) else { throw Self.unreachable(.current) }
            try wait(for: POLLOUT, on: connection, until: deadline)
            var error: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length)
            guard error == 0 else { throw Self.unreachable(Errno(rawValue: error)) }
        }
        return connection
    }

    private static func unreachable(_ error: Errno) -> Failure { Failure(reason: "cannot be reached: \(error)") }

    // MARK: - Talking

    private func wait(for event: Int32, on connection: OwnedDescriptor, until deadline: Instant) throws(Failure) {
        while true {
            let left = deadline - .now()
            guard left > .zero else { throw Failure(reason: "did not answer within \(timeout.brief)") }
            var entry = pollfd(fd: connection.number, events: Int16(event), revents: 0)
            if poll(&entry, 1, Int32(clamping: left.nanoseconds / 1_000_000 + 1)) > 0 { return }
        }
    }

    private func send(
        _ bytes: [UInt8], to connection: OwnedDescriptor, until deadline: Instant
    ) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            try wait(for: POLLOUT, on: connection, until: deadline)
            let sent = rest.withUnsafeBytes {
                Glibc.send(connection.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            let error = Errno.current
            guard sent >= 0 || error == .interrupted || error == .wouldBlock else { throw Self.broken(error) }
            rest = rest.dropFirst(max(0, sent))
        }
    }

    private func receive(
        from connection: OwnedDescriptor, until deadline: Instant
    ) throws(Failure) -> [UInt8] {
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            try wait(for: POLLIN, on: connection, until: deadline)
            let count = recv(connection.number, &buffer, buffer.count, 0)
            if count == 0 { return answer }
            let error = Errno.current
            guard count > 0 || error == .interrupted || error == .wouldBlock else { throw Self.broken(error) }
            answer += buffer.prefix(max(0, count))
            guard answer.count <= Self.headerLimit + bodyLimit else { throw Self.tooLong(bodyLimit) }
        }
    }

    private static func broken(_ error: Errno) -> Failure { Failure(reason: "dropped the connection: \(error)") }

    private static func tooLong(_ limit: Int) -> Failure {
        Failure(reason: "answers with more than \(limit >> 20) MiB")
    }

    // MARK: - Reading

    /// Splits an answer; RFC 9112.
    static func parse(_ answer: [UInt8], limit: Int) throws(Failure) -> Answer {
        let head = answer.prefix(headerLimit)
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        while let end = head[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = head[start..<end].last == UInt8(ascii: "\r") ? head[start..<(end - 1)] : head[start..<end]
            start = end + 1
            guard !line.isEmpty else { return try parse(lines, body: answer[start...], limit) }
            lines.append(line)
        }
        throw Failure(reason: answer.isEmpty ? "closed the connection without an answer" : "does not speak HTTP")
    }

    private static func parse(
        _ head: [ArraySlice<UInt8>], body: ArraySlice<UInt8>, _ limit: Int
    ) throws(Failure) -> Answer {
        let words = head.first?.split(separator: UInt8(ascii: " "), maxSplits: 2) ?? []
        guard words.count >= 2, words[0].starts(with: "HTTP/1.".utf8), words[1].count == 3,
            let status = Int(String(decoding: words[1], as: UTF8.self)), (100...599).contains(status)
        else { throw Failure(reason: "does not speak HTTP") }
        var length: Int?
        for line in head.dropFirst() {
            let field = String(decoding: line, as: UTF8.self).split(separator: ":", maxSplits: 1)
            guard field.count == 2 else { continue }
            switch (field[0].lowercased(), field[1].filter { $0 != " " && $0 != "\t" }) {
            case ("content-length", let value): length = Int(value) ?? -1
            case ("transfer-encoding", _), ("content-encoding", _):
                throw Failure(reason: "answers in an unsupported encoding")
            default: break
            }
        }
        guard length ?? body.count == body.count else { throw Failure(reason: "cut its answer off") }
        guard body.count <= limit else { throw tooLong(limit) }
        return Answer(status: status, body: Array(body))
    }
}
