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
        // HTTP/1.0: most servers send the body in one piece, and end the connection.
        let request = "GET \(address.prefix)\(path) HTTP/1.0\r\nHost: \(address.authority)\r\nAccept: */*\r\n\r\n"
        try send(Array(request.utf8), to: connection, until: deadline)
        return try receive(from: connection, until: deadline)
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
    ) throws(Failure) -> Answer {
        var collector = Collector(limit: bodyLimit)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            try wait(for: POLLIN, on: connection, until: deadline)
            let count = recv(connection.number, &buffer, buffer.count, 0)
            let error = Errno.current
            guard count != 0 else { return try collector.end() }
            guard count > 0 || error == .interrupted || error == .wouldBlock else { throw Self.broken(error) }
            if let answer = try collector.receive(buffer.prefix(max(0, count))) { return answer }
        }
    }

    private static func broken(_ error: Errno) -> Failure { Failure(reason: "dropped the connection: \(error)") }

    // MARK: - Reading

    /// Reads an answer that came as a whole, after which the connection ended.
    static func parse(_ answer: [UInt8], limit: Int) throws(Failure) -> Answer {
        var collector = Collector(limit: limit)
        if let answer = try collector.receive(answer[...]) { return answer }
        return try collector.end()
    }

    /// Collects an answer until its end, which a connection that is kept open does not show.
    private struct Collector {
        let limit: Int
        private var reader = HTTPReader()
        private var status = 0
        private var body: [UInt8] = []

        init(limit: Int) { self.limit = limit }

        mutating func receive(_ bytes: ArraySlice<UInt8>) throws(Failure) -> Answer? {
            var rest = bytes
            while let event = try next(&rest) {
                switch event {
                case .status(let status):
                    guard status <= 599 else { throw Failure(.notHTTP) }
                    self.status = status
                case .head:
                    guard !reader.isEncoded else { throw Failure(.unknownCoding) }
                case .body(let part):
                    guard body.count + part.count <= limit else {
                        throw Failure(reason: "answers with more than \(limit >> 20) MiB")
                    }
                    body += part
                case .end:
                    return Answer(status: status, body: body)
                }
            }
            return nil
        }

        private mutating func next(_ rest: inout ArraySlice<UInt8>) throws(Failure) -> HTTPReader.Event? {
            do throws(HTTPReader.Fault) { return try reader.next(&rest) } catch { throw Failure(error) }
        }

        func end() throws(Failure) -> Answer {
            do throws(HTTPReader.Fault) { try reader.end() } catch { throw Failure(error) }
            return Answer(status: status, body: body)
        }
    }
}

extension WebRequest.Failure {
    fileprivate init(_ fault: HTTPReader.Fault) {
        reason =
            switch fault {
            case .empty: "closed the connection without an answer"
            case .notHTTP: "does not speak HTTP"
            case .headTooLong: "answers with a header of more than 1 MiB"
            case .malformed: "answers with malformed HTTP"
            case .cutOff: "cut its answer off"
            case .unknownCoding: "answers in an unsupported encoding"
            }
    }
}
