// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Parses the forms of ``NetworkAddress``.
enum AddressReader {
    // The size of sockaddr_un.sun_path without the NUL: unix(7).
    private static let longestPath = 107

    /// Parses an address.
    ///
    /// - Parameter bareHost: the host for a port number alone.
    static func address(_ text: String, bareHost: NetworkAddress.Host) throws(ValueError) -> NetworkAddress {
        if text.hasPrefix("/") || text.hasPrefix("@") { return try unix(text) }
        if text.hasPrefix("[") {
            guard let close = text.lastIndex(of: "]") else { throw wrong("\"]\" is missing after the IPv6 address") }
            let rest = text[close...].dropFirst()
            guard rest.first == ":" else { throw wrong("\":PORT\" is missing after \"]\"") }
            return .tcp(try host(text[...close]), port: try port(rest.dropFirst()))
        }
        guard let colon = text.lastIndex(of: ":") else { return .tcp(bareHost, port: try port(text[...])) }
        guard !text[..<colon].contains(":") else {
            throw wrong("an IPv6 address goes in brackets: [\(text.singleLine())]:PORT")
        }
        return .tcp(try host(text[..<colon]), port: try port(text[colon...].dropFirst()))
    }

    /// Parses the path or the abstract name of a Unix socket.
    static func unix(_ text: String) throws(ValueError) -> NetworkAddress {
        guard text.hasPrefix("/") || text.hasPrefix("@") else {
            throw wrong("a Unix socket is written as an absolute path or @NAME")
        }
        guard text.utf8.count <= longestPath else {
            throw wrong("a Unix socket's name has at most \(longestPath) bytes")
        }
        guard text.utf8.count > 1 else { throw wrong("the Unix socket has no name") }
        return text.hasPrefix("/") ? .unix(path: text) : .abstract(name: String(text.dropFirst()))
    }

    static func host(_ text: Substring) throws(ValueError) -> NetworkAddress.Host {
        switch text {
        case "*", "": return .any
        case "localhost": return .loopback
        default:
            if text.hasPrefix("["), text.hasSuffix("]"), let bytes = v6(text.dropFirst().dropLast()) {
                return .v6(bytes)
            }
            if let bytes = v4(text) { return .v4(bytes) }
            throw wrong("\(text.quoted()) is not an IP address; names are not looked up, except localhost")
        }
    }

    static func port(_ text: Substring) throws(ValueError) -> UInt16 {
        guard !text.isEmpty else { throw wrong("the port is missing") }
        guard text.utf8.allSatisfy(\.isDigit), let port = UInt16(text), port > 0 else {
            throw wrong("the port must be 1 … 65535, not \(text.quoted())")
        }
        return port
    }

    private static func wrong(_ message: String) -> ValueError { ValueError(message: message) }

    /// Four decimal numbers without leading zeros, as in inet_pton(3).
    static func v4(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        let bytes = parts.compactMap { part -> UInt8? in
            guard !part.isEmpty, part.utf8.allSatisfy(\.isDigit), part == "0" || part.first != "0" else { return nil }
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
    static func text(ofV6 bytes: [UInt8]) -> String {
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
