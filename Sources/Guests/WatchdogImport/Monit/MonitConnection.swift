// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A connection test of monit: monit(1), "CONNECTION TESTS".
struct MonitConnection {
    struct Invalid: Error {
        let reason: String
        /// A word that is invalid at its position.
        let token: MonitToken?

        static func because(_ reason: String) -> Invalid { Invalid(reason: reason, token: nil) }
    }

    /// `status >= 300`.
    struct Comparison {
        let mark: String
        let value: MonitToken
    }

    private var host: MonitToken?
    private var port: MonitToken?
    private var socket: MonitToken?
    private var url: MonitToken?
    private var type = "tcp"
    private var isEncrypted = false
    private(set) var protocolName: String?
    private(set) var request: MonitToken?
    private(set) var content: Comparison?
    private(set) var status: Comparison?
    private(set) var timeout: Duration?
    private(set) var rate: MonitRate?
    /// Descriptions of the features that no probe has.
    private(set) var lacking: [String] = []

    private var rest: ArraySlice<MonitToken>

    /// Parses the tokens after `failed`.
    init(_ tokens: ArraySlice<MonitToken>) throws(Invalid) {
        rest = tokens
        // A number without a keyword starts the rate, which is at the end.
        while let token = rest.first, rate == nil {
            if token.kind == .number {
                guard let rate = MonitRate(Array(rest)), rate.length == rest.count, rate.count > 0,
                    rate.count <= rate.cycles
                else { throw Invalid(reason: "", token: token) }
                self.rate = rate
            } else {
                rest = rest.dropFirst()
                try read(token)
            }
        }
    }

    private mutating func read(_ token: MonitToken) throws(Invalid) {
        switch token.keyword {
        case "host" where protocolName != "websocket": host = try text(token)
        case "port": port = try next(token) { $0.count != nil }
        case "unixsocket": socket = try text(token)
        case "url": url = try text(token)
        case "request": request = try text(token)
        case "type":
            type = try next(token) { ["tcp", "udp", "tcpssl"].contains($0.keyword) }.keyword
            // Versions of TLS.
            while let word = rest.first, word.keyword.hasPrefix("tlsv") || ["auto", "sslauto"].contains(word.keyword) {
                rest = rest.dropFirst()
            }
        case "protocol": protocolName = try next(token) { $0.isText }.text.lowercased()
        case "content": content = try comparison { $0.isText }
        case "status": status = try comparison { $0.count != nil }
        case "timeout":
            let number = try next(token) { $0.count != nil }
            let unit = try next(token) { MonitTimes.span(number, $0) != nil }
            timeout = MonitTimes.span(number, unit)
        case "method":
            if try next(token, where: { ["get", "head"].contains($0.keyword) }).keyword == "head" {
                lacking.append("method head")
            }
        case "ssl":
            isEncrypted = true
            if rest.first?.keyword == "{" { rest = rest.drop { $0.keyword != "}" }.dropFirst() }
        case "certificate":
            isEncrypted = true
            rest = rest.drop {
                $0.kind == .text || ["valid", ">", "checksum", "md5", "sha1", "=", "day", "days"].contains($0.keyword)
                    || $0.kind == .number
            }
        case "retry":
            _ = try next(token) { $0.count != nil }
            lacking.append("retry")
        case "responsetime":
            _ = try comparison { $0.count != nil }
            _ = try next(token) { ["second", "millisecond"].contains($0.keyword) }
            lacking.append("responsetime")
        case "ipv4", "ipv6", "headers": lacking.append(token.keyword)
        case "hostheader", "username", "password", "database", "send", "expect", "address", "checksum", "origin",
            "secret", "target", "host", "path":
            _ = try text(token)
            lacking.append(token.keyword)
        case "version", "maxforward":
            _ = try next(token) { $0.count != nil }
            lacking.append(token.keyword)
        case let word where word.hasSuffix("limit"):
            _ = try comparison { $0.count != nil }
            _ = try next(token) { $0.keyword == "%" }
            lacking.append(word)
        default: throw Invalid(reason: "", token: token)
        }
    }

    /// The token after a keyword.
    private mutating func next(
        _ keyword: MonitToken, where isRight: (MonitToken) -> Bool
    ) throws(Invalid) -> MonitToken {
        guard let token = rest.first, isRight(token) else { throw Invalid(reason: "", token: rest.first ?? keyword) }
        rest = rest.dropFirst()
        return token
    }

    private mutating func text(_ keyword: MonitToken) throws(Invalid) -> MonitToken {
        try next(keyword) { $0.isText || $0.kind == .number }
    }

    private mutating func comparison(_ isRight: (MonitToken) -> Bool) throws(Invalid) -> Comparison {
        var mark = "="
        if let word = rest.first?.keyword, ["=", "!=", "<", "<=", ">", ">="].contains(word) {
            mark = word
            rest = rest.dropFirst()
        }
        guard let value = rest.first, isRight(value) else {
            throw rest.first.map { Invalid(reason: "", token: $0) } ?? .because("a value is missing")
        }
        rest = rest.dropFirst()
        return Comparison(mark: mark, value: value)
    }

    // MARK: - The probe

    /// The value of `Probe=`, without escaped specifiers.
    var target: String {
        get throws(Invalid) {
            let isEncrypted = isEncrypted || type == "tcpssl" || Self.encrypted.contains(protocolName ?? "")
            guard !isEncrypted else { throw .because("no probe speaks TLS; use Probe=exec:curl …") }
            guard type != "udp", !["ntp3"].contains(protocolName) else {
                throw .because("no probe speaks UDP; use Probe=exec:…")
            }
            if let socket { return "unix:" + socket.text }
            if let port {
                let host = host?.text ?? "localhost"
                let bracketed = host.contains(":") ? "[\(host)]" : host
                guard protocolName == "http" else { return "tcp:\(bracketed):\(port.text)" }
                let path = request?.text ?? ""
                return "http://\(bracketed):\(port.text)\(path.hasPrefix("/") ? "" : "/")\(Self.encoded(path))"
            }
            guard let url = url?.text else { throw .because("it has neither a port, a unixsocket, nor a url") }
            guard url.lowercased().hasPrefix("http://") else {
                throw .because("no probe speaks TLS; use Probe=exec:curl …")
            }
            // A client does not send the fragment after #.
            let address = url.dropFirst("http://".count).prefix { $0 != "#" }
            let authority = address.prefix { $0 != "/" && $0 != "?" }
            guard !authority.contains("@") else { throw .because("no probe gives a password; use Probe=exec:curl …") }
            return "http://\(authority)\(Self.encoded(String(address.dropFirst(authority.count))))"
        }
    }

    private static let encrypted: Set<String> = ["https", "imaps", "pops", "smtps", "mysqls"]

    /// The path and query in monit's encoding, which also encodes percent signs.
    private static func encoded(_ path: String) -> String {
        var result = ""
        for byte in path.utf8 {
            let isSafe = byte > 0x20 && byte < 0x7f && !"\"#%<>[\\]^`{|}".utf8.contains(byte)
            let digits = String(byte, radix: 16, uppercase: true)
            result += isSafe ? String(UnicodeScalar(byte)) : "%" + (byte < 0x10 ? "0" : "") + digits
        }
        return result
    }
}
