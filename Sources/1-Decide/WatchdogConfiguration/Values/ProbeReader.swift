// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Parses the target of a liveness probe.
enum ProbeReader {
    static func target(_ word: String) throws(ValueError) -> ProbeSettings.Target {
        if let address = word.afterPrefix("tcp:") { return .connect(try peer(address)) }
        if let path = word.afterPrefix("unix:") { return .connect(try AddressReader.unix(path)) }
        if let rest = word.afterPrefix("http://") { return .http(try request(rest)) }
        if let command = word.afterPrefix("exec:") { return .command(try shellCommand(command)) }
        let hint = word.hasPrefix("https:") ? "; TLS is not supported, use exec:curl …" : ""
        throw ValueError(
            message: "\(word.quoted()) is not one of tcp:ADDR, unix:PATH, http://ADDR/PATH or exec:CMD\(hint)")
    }

    static func shellCommand(_ command: String) throws(ValueError) -> String {
        guard !command.allSatisfy(\.isWhitespace) else {
            throw ValueError(message: "the command is missing after exec:")
        }
        // MAX_ARG_STRLEN of execve(2).
        guard command.utf8.count < 131_072 else {
            throw ValueError(message: "the command is longer than 128 KiB")
        }
        return command
    }

    /// An address that can be connected to.
    private static func peer(_ text: String) throws(ValueError) -> NetworkAddress {
        guard !text.hasPrefix("/"), !text.hasPrefix("@") else {
            throw ValueError(message: "a Unix socket is written unix:\(text.prefix(40).singleLine())")
        }
        let address = try AddressReader.address(text, bareHost: .loopback)
        guard case .tcp(.any, _) = address else { return address }
        throw ValueError(message: "a probe needs a specific address; write localhost:PORT")
    }

    private static func request(_ text: String) throws(ValueError) -> HTTPProbe {
        guard text.utf8.count <= 2048 else { throw ValueError(message: "the address is longer than 2 KiB") }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), !text.contains("#") else {
            throw ValueError(message: "the address may hold printable ASCII only, and no #; encode the rest")
        }
        let authority = String(text.prefix { $0 != "/" && $0 != "?" })
        guard !authority.contains("@") else { throw ValueError(message: "the address cannot name a user") }
        var path = String(text.dropFirst(authority.utf8.count))
        if !path.hasPrefix("/") { path = "/" + path }
        let hasPort = authority.last != "]" && authority.drop { $0 != "]" }.contains(":") || portFollows(authority)
        let address = try peer(hasPort ? authority : "\(authority):80")
        return HTTPProbe(address: address, authority: authority, path: path)
    }

    private static func portFollows(_ authority: String) -> Bool {
        !authority.hasPrefix("[") && authority.contains(":")
    }

    /// `200`, `200-299`, `200 204 301-308`; commas also separate.
    static func statuses(_ text: String) throws(ValueError) -> [ClosedRange<Int>] {
        let parts = text.split { $0 == "," || $0 == " " || $0 == "\t" }
        let ranges = parts.compactMap { part -> ClosedRange<Int>? in
            let ends = part.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            let numbers = ends.compactMap { end in
                end.utf8.count == 3 && end.utf8.allSatisfy(\.isDigit) ? Int(end) : nil
            }
            guard numbers.count == ends.count, let first = numbers.first, let last = numbers.last, first <= last,
                first >= 100, last <= 599
            else { return nil }
            return first...last
        }
        guard !ranges.isEmpty, ranges.count == parts.count else {
            throw ValueError(
                message: "\(text.quoted()) is not a list of status codes; write for example 200-299 or 200 204")
        }
        return ranges
    }
}

extension String {
    /// The rest of the string after the prefix; nil without the prefix.
    func afterPrefix(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}

/// Parses the forms of ``NetworkAddress`` in a setting.
enum AddressReader {
    /// Parses an address.
    ///
    /// - Parameter bareHost: the host for a port number alone.
    static func address(_ text: String, bareHost: NetworkAddress.Host) throws(ValueError) -> NetworkAddress {
        try read { () throws(NetworkAddress.SyntaxError) in try NetworkAddress(parsing: text, bareHost: bareHost) }
    }

    /// Parses the path or the abstract name of a Unix socket.
    static func unix(_ text: String) throws(ValueError) -> NetworkAddress {
        try read { () throws(NetworkAddress.SyntaxError) in try NetworkAddress(parsingUnix: text) }
    }

    private static func read(
        _ address: () throws(NetworkAddress.SyntaxError) -> NetworkAddress
    ) throws(ValueError) -> NetworkAddress {
        do {
            return try address()
        } catch {
            throw ValueError(message: error.reason)
        }
    }
}
