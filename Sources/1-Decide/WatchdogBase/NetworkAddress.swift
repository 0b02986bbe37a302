// SPDX-License-Identifier: Apache-2.0

/// The address of a socket on this machine.
///
/// It is written `8080`, `127.0.0.1:8080`, `localhost:8080`, `[::1]:8080`, `*:8080`, `/run/app.sock` or
/// `@abstract-name`. Names other than `localhost` are not resolved, because a resolver may block.
public enum NetworkAddress: Hashable, Sendable, Codable, CustomStringConvertible {
    /// A TCP port at an address.
    case tcp(Host, port: UInt16)
    /// A Unix socket by the path that a program passes to bind(2).
    case unix(path: String)
    /// A Unix socket by its abstract name.
    case abstract(name: String)

    private enum CodingKeys: String, CodingKey { case tcp, unix, abstract }
    private enum TcpCodingKeys: String, CodingKey { case _0, port }
    private enum UnixCodingKeys: String, CodingKey { case path }
    private enum AbstractCodingKeys: String, CodingKey { case name }

    /// The address of a TCP port.
    public enum Host: Hashable, Sendable, Codable {
        /// Any address of either family.
        case any
        /// The loopback address of either family.
        case loopback
        /// An IPv4 address: four bytes.
        case v4([UInt8])
        /// An IPv6 address: sixteen bytes.
        case v6([UInt8])

        private enum CodingKeys: String, CodingKey { case any, loopback, v4, v6 }
    }

    /// An invalid address, with the reason.
    public struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The text.
        public let text: String
        /// What is wrong with it.
        public let reason: String

        /// `'web:99999' is not an address: the port must be 1 … 65535, not "99999"`.
        public var description: String { "'\(text)' is not an address: \(reason)" }
    }

    // The size of sockaddr_un.sun_path without the NUL: unix(7).
    private static let longestPath = 107

    /// Parses one of the written forms.
    ///
    /// - Parameters:
    ///   - bareHost: the host for a port number alone.
    ///   - ports: the port numbers that are allowed; 0 has the kernel choose one.
    public init(
        parsing text: String, bareHost: Host = .any, ports: ClosedRange<UInt16> = 1...65_535
    ) throws(SyntaxError) {
        do throws(Invalid) {
            self = try Self.address(text, bareHost, ports)
        } catch {
            throw SyntaxError(text: text, reason: error.reason)
        }
    }

    /// Parses the path or the abstract name of a Unix socket.
    public init(parsingUnix text: String) throws(SyntaxError) {
        do throws(Invalid) {
            self = try Self.unix(text)
        } catch {
            throw SyntaxError(text: text, reason: error.reason)
        }
    }

    /// The address as it is written in settings.
    public var description: String {
        switch self {
        case .tcp(.any, let port): "*:\(port)"
        case .tcp(.loopback, let port): "localhost:\(port)"
        case .tcp(.v4(let bytes), let port): "\(bytes.map { "\($0)" }.joined(separator: ".")):\(port)"
        case .tcp(.v6(let bytes), let port): "[\(Self.text(ofV6: bytes))]:\(port)"
        case .unix(let path): path
        case .abstract(let name): "@\(name)"
        }
    }

    private struct Invalid: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    private static func address(
        _ text: String, _ bareHost: Host, _ ports: ClosedRange<UInt16>
    ) throws(Invalid) -> NetworkAddress {
        if text.hasPrefix("/") || text.hasPrefix("@") { return try unix(text) }
        if text.hasPrefix("[") {
            guard let close = text.lastIndex(of: "]") else { throw Invalid("\"]\" is missing after the IPv6 address") }
            let rest = text[close...].dropFirst()
            guard rest.first == ":" else { throw Invalid("\":PORT\" is missing after \"]\"") }
            return .tcp(try host(text[...close]), port: try port(rest.dropFirst(), ports))
        }
        guard let colon = text.lastIndex(of: ":") else { return .tcp(bareHost, port: try port(text[...], ports)) }
        guard !text[..<colon].contains(":") else {
            throw Invalid("an IPv6 address goes in brackets: [\(text.singleLine(limit: 80))]:PORT")
        }
        return .tcp(try host(text[..<colon]), port: try port(text[colon...].dropFirst(), ports))
    }

    private static func unix(_ text: String) throws(Invalid) -> NetworkAddress {
        guard text.hasPrefix("/") || text.hasPrefix("@") else {
            throw Invalid("a Unix socket is written as an absolute path or @NAME")
        }
        guard text.utf8.count <= longestPath else {
            throw Invalid("a Unix socket's name has at most \(longestPath) bytes")
        }
        guard !text.utf8.contains(0) else { throw Invalid("a Unix socket's name cannot contain NUL") }
        guard text.utf8.count > 1 else { throw Invalid("the Unix socket has no name") }
        return text.hasPrefix("/") ? .unix(path: text) : .abstract(name: String(text.dropFirst()))
    }

    private static func host(_ text: Substring) throws(Invalid) -> Host {
        switch text {
        case "*", "": return .any
        case "localhost": return .loopback
        default:
            if text.hasPrefix("["), text.hasSuffix("]"), let bytes = v6(text.dropFirst().dropLast()) {
                return .v6(bytes)
            }
            if let bytes = v4(text) { return .v4(bytes) }
            throw Invalid("\(quoted(text)) is not an IP address; names are not looked up, except localhost")
        }
    }

    private static func port(_ text: Substring, _ ports: ClosedRange<UInt16>) throws(Invalid) -> UInt16 {
        guard !text.isEmpty else { throw Invalid("the port is missing") }
        guard text.allSatisfy(\.isASCIIDigit), let port = UInt16(text), ports.contains(port) else {
            throw Invalid("the port must be \(ports.lowerBound) … \(ports.upperBound), not \(quoted(text))")
        }
        return port
    }

    private static func quoted(_ text: Substring) -> String { "\"\(text.singleLine(limit: 80))\"" }
}

extension NetworkAddress {
    /// Four decimal numbers without leading zeros, as in inet_pton(3).
    static func v4(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        let bytes = parts.compactMap { part -> UInt8? in
            guard !part.isEmpty, part.allSatisfy(\.isASCIIDigit), part == "0" || part.first != "0" else { return nil }
            return UInt8(part)
        }
        return bytes.count == 4 ? bytes : nil
    }

    /// Groups of up to four hexadecimal digits, at most one `::` for groups of zeros, and optionally an IPv4 address at
    /// the end.
    static func v6(_ text: Substring) -> [UInt8]? {
        guard text.utf8.count <= 45 else { return nil }
        var groups = text.split(separator: ":", omittingEmptySubsequences: false)
        guard groups.count >= 3 else { return nil }
        // Splitting "::" yields one empty group within the text, two at its start or end, three if it is the whole
        // text.
        if groups[0].isEmpty {
            guard groups[1].isEmpty else { return nil }
            groups.removeFirst()
        }
        if groups[groups.count - 1].isEmpty {
            guard groups.count >= 2, groups[groups.count - 2].isEmpty else { return nil }
            groups.removeLast()
        }
        var head: [UInt8] = []
        var tail: [UInt8]?
        for (index, group) in groups.enumerated() {
            var bytes: [UInt8]
            if group.isEmpty {
                guard tail == nil else { return nil }
                tail = []
                continue
            } else if group.contains(".") {
                guard index == groups.count - 1, let v4 = v4(group) else { return nil }
                bytes = v4
            } else {
                guard group.utf8.count <= 4, group.allSatisfy({ $0.isASCII && $0.isHexDigit }),
                    let value = UInt16(group, radix: 16)
                else { return nil }
                bytes = [UInt8(value >> 8), UInt8(value & 0xff)]
            }
            if tail == nil { head += bytes } else { tail = (tail ?? []) + bytes }
        }
        guard let tail else { return head.count == 16 ? head : nil }
        let zeros = 16 - head.count - tail.count
        // "::" stands for at least one group.
        guard zeros >= 2 else { return nil }
        return head + [UInt8](repeating: 0, count: zeros) + tail
    }

    /// The text form of RFC 5952: lowercase, with the longest run of zero groups as `::`.
    private static func text(ofV6 bytes: [UInt8]) -> String {
        let groups = stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        var longest = 0..<0
        var start = 0
        while start < groups.count {
            let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
            if end - start > max(1, longest.count) { longest = start..<end }
            start = max(end, start) + 1
        }
        func joined(_ part: ArraySlice<UInt16>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard !longest.isEmpty else { return joined(groups[...]) }
        return "\(joined(groups[..<longest.lowerBound]))::\(joined(groups[longest.upperBound...]))"
    }
}
