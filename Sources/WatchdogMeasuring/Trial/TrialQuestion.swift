// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// Asks a listening program for a page, to learn whether it speaks HTTP.
enum TrialQuestion {
    /// The status code of the response to `GET /`; nil if there is none in time.
    ///
    /// - Parameter address: `127.0.0.1:8080` or the like.
    static func httpStatus(at address: String, within limit: Duration) -> Int? {
        guard let listen = try? ListenAddress(parsing: address) else { return nil }
        let deadline = Instant.now() + limit
        for candidate in SocketAddress.candidates(for: listen.reachable) {
            if let line = try? firstLine(candidate, host: address, deadline), let status = status(in: line) {
                return status
            }
        }
        return nil
    }

    private static func firstLine(
        _ address: SocketAddress, host: String, _ deadline: Instant
    ) throws(LinuxError) -> [UInt8] {
        let connection = try OutgoingConnection(to: address)
        if try connection.connect() != .connected {
            guard wait(connection, POLLOUT, deadline) else { return [] }
            try connection.finish()
        }
        let request =
            "GET / HTTP/1.1\r\nHost: \(host)\r\nUser-Agent: watchdogd\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        _ = try connection.send(Array(request.utf8)[...])
        var bytes: [UInt8] = []
        // `HTTP/1.1 200`.
        while bytes.count < 12, wait(connection, POLLIN, deadline) {
            guard case .bytes(let more) = try connection.receive(limit: 512) else { break }
            bytes += more
        }
        return bytes
    }

    private static func wait(_ connection: OutgoingConnection, _ event: Int32, _ deadline: Instant) -> Bool {
        var entry = pollfd(fd: connection.descriptor.number, events: Int16(event), revents: 0)
        let left = (deadline - .now()).nanoseconds
        return left > 0 && poll(&entry, 1, Int32(clamping: left / 1_000_000 + 1)) == 1
    }

    /// The code in `HTTP/1.1 200 OK`.
    static func status(in bytes: [UInt8]) -> Int? {
        let words = String(decoding: bytes.prefix(64), as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1].prefix(3)) else { return nil }
        return (100...599).contains(status) ? status : nil
    }
}

extension ListenAddress {
    /// Where a program that listens on all addresses is reached.
    fileprivate var reachable: ListenAddress {
        switch self {
        case .tcp(.v4([0, 0, 0, 0]), let port): .tcp(.loopback, port: port)
        case .tcp(.v6(let bytes), let port) where bytes.allSatisfy { $0 == 0 }: .tcp(.loopback, port: port)
        default: self
        }
    }
}
