// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An address on which an app is ready once something listens there.
///
/// Written as `8080`, `*:8080`, `127.0.0.1:8080`, `localhost:8080`, `[::1]:8080`, `/run/app.sock` or `@abstract-name`.
public enum ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A TCP port on a host address.
    case tcp(Host, port: UInt16)
    /// A Unix socket, identified by the path that the app passes to `bind`.
    case unix(path: String)
    /// A Unix socket, identified by its abstract name.
    case abstract(name: String)

    /// The host address of a TCP port.
    public enum Host: Hashable, Sendable {
        /// Any address of either family.
        case any
        /// The loopback address of either family.
        case loopback
        /// An IPv4 address: four bytes.
        case v4([UInt8])
        /// An IPv6 address: sixteen bytes.
        case v6([UInt8])
    }

    /// An invalid address, with the reason.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The text.
        public let text: String
        /// What is wrong with it.
        public let reason: String

        /// "'web:99999' is not an address to listen on: the port must be 1 … 65535".
        public var description: String { "'\(text)' is not an address to listen on: \(reason)" }
    }

    /// Parses one of the written forms.
    public init(parsing text: String) throws(ParseError) {
        func wrong(_ reason: String) -> ParseError { ParseError(text: text, reason: reason) }
        // sockaddr_un.sun_path: unix(7).
        let longest = 107
        if text.hasPrefix("/") || text.hasPrefix("@") {
            guard text.utf8.count <= longest else { throw wrong("a Unix socket's name has at most \(longest) bytes") }
            guard !text.utf8.contains(0) else { throw wrong("a Unix socket's name cannot contain NUL") }
            guard text.utf8.count > 1 else { throw wrong("the Unix socket has no name") }
            self = text.hasPrefix("/") ? .unix(path: text) : .abstract(name: String(text.dropFirst()))
            return
        }
        let host: Substring
        let digits: Substring
        if text.hasPrefix("[") {
            guard let close = text.lastIndex(of: "]") else { throw wrong("']' is missing after the IPv6 address") }
            host = text[...close]
            guard text[close...].dropFirst().first == ":" else { throw wrong("':port' is missing after ']'") }
            digits = text[close...].dropFirst(2)
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            digits = text[text.index(after: colon)...]
            guard !host.contains(":") else { throw wrong("an IPv6 address goes in brackets: [\(text)]:port") }
        } else {
            host = "*"
            digits = Substring(text)
        }
        guard !digits.isEmpty else { throw wrong("the port is missing") }
        guard digits.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
            throw wrong("the port must be a number, not '\(digits)'")
        }
        guard let port = UInt16(decimal: digits.utf8), port > 0 else { throw wrong("the port must be 1 … 65535") }
        guard let host = Host(host) else {
            throw wrong("'\(host)' is not an IP address; names are not looked up, except localhost")
        }
        self = .tcp(host, port: port)
    }

    /// The address in its written form.
    public var description: String {
        switch self {
        case .tcp(.any, let port): "*:\(port)"
        case .tcp(.loopback, let port): "localhost:\(port)"
        case .tcp(.v4(let bytes), let port): "\(bytes.map { "\($0)" }.joined(separator: ".")):\(port)"
        case .tcp(.v6(let bytes), let port): "[\(Host.text(ofV6: bytes))]:\(port)"
        case .unix(let path): path
        case .abstract(let name): "@\(name)"
        }
    }
}

extension ListenAddress.Host {
    fileprivate init?(_ text: Substring) {
        switch text {
        case "*", "": self = .any
        case "localhost": self = .loopback
        default:
            if text.hasPrefix("["), let bytes = Self.bytes(of: text.dropFirst().dropLast(), AF_INET6, count: 16) {
                self = .v6(bytes)
            } else if let bytes = Self.bytes(of: text, AF_INET, count: 4) {
                self = .v4(bytes)
            } else {
                return nil
            }
        }
    }

    private static func bytes(of text: Substring, _ family: Int32, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        guard !text.utf8.contains(0), inet_pton(family, String(text), &bytes) == 1 else { return nil }
        return bytes
    }

    fileprivate static func text(ofV6 bytes: [UInt8]) -> String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard bytes.count == 16, inet_ntop(AF_INET6, bytes, &buffer, socklen_t(buffer.count)) != nil else { return "?" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
