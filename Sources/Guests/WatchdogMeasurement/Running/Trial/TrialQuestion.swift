// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// Sends an HTTP request to a listening program, to find out whether it speaks HTTP.
enum TrialQuestion {
    /// The maximum number of bytes to read before the status line.
    private static let mostBytes = 16 << 10

    /// The status code of the response to `GET /`; nil without one in time.
    ///
    /// - Parameter address: `127.0.0.1:8080` or the like.
    static func httpStatus(at address: String, within limit: Duration) -> Int? {
        guard let listen = try? NetworkAddress(parsing: address) else { return nil }
        let deadline = Instant.now() + limit
        for candidate in SocketAddress.candidates(for: listen.reachable) {
            if let status = try? status(of: candidate, host: address, deadline) { return status }
        }
        return nil
    }

    private static func status(
        of address: SocketAddress, host: String, _ deadline: Instant
    ) throws(LinuxError) -> Int? {
        let connection = try OutgoingConnection(to: address)
        if try connection.connect() != .connected {
            guard wait(connection, POLLOUT, deadline) else { return nil }
            try connection.finish()
        }
        let request =
            "GET / HTTP/1.1\r\nHost: \(host)\r\nUser-Agent: watchdogd\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        _ = try connection.send(Array(request.utf8)[...])
        var bytes: [UInt8] = []
        while bytes.count < mostBytes, wait(connection, POLLIN, deadline) {
            guard case .bytes(let more) = try connection.receive(limit: 512) else { break }
            bytes += more
            if let status = status(in: bytes) { return status }
        }
        return nil
    }

    private static func wait(_ connection: OutgoingConnection, _ event: Int32, _ deadline: Instant) -> Bool {
        var entry = pollfd(fd: connection.descriptor.number, events: Int16(event), revents: 0)
        let left = (deadline - .now()).nanoseconds
        return left > 0 && poll(&entry, 1, Int32(clamping: left / 1_000_000 + 1)) == 1
    }

    /// The code in `HTTP/1.1 200 OK`, possibly after interim responses.
    static func status(in bytes: [UInt8]) -> Int? {
        HTTPReader.status(in: bytes).flatMap { (100...599).contains($0) ? $0 : nil }
    }
}

extension NetworkAddress {
    /// Where a program that listens on all addresses is reached.
    fileprivate var reachable: NetworkAddress {
        switch self {
        case .tcp(.v4([0, 0, 0, 0]), let port): .tcp(.loopback, port: port)
        case .tcp(.v6(let bytes), let port) where bytes.allSatisfy { $0 == 0 }: .tcp(.loopback, port: port)
        default: self
        }
    }
}
