// SPDX-License-Identifier: Apache-2.0

extension AppReader {
    mutating func setReadiness(_ text: SourceText) throws(ValueError) {
        let expansion = expansion
        try set(\.watchdog.readiness, text, try Self.readiness(text, expansion))
    }

    private static func readiness(
        _ text: SourceText, _ expansion: SpecifierExpansion
    ) throws(ValueError) -> ReadinessSetting {
        let word = try text.expanded(by: expansion)
        if let address = word.afterPrefix("listen:") {
            return .listening(try whole(text, try AddressReader.address(address, bareHost: .any)))
        }
        if let command = word.afterPrefix("exec:") { return .command(try shellCommand(command, text)) }
        let words: [(word: String, value: ReadinessSetting?)] = [
            ("auto", .automatic), ("channel", .channel), ("notify", .notify), ("probe", .probe),
            ("none", ReadinessSetting.none),
            ("listen:ADDR", nil), ("exec:CMD", nil),
        ]
        let synonyms = [
            "simple": "auto", "idle": "auto", "automatic": "auto", "exec": "none", "notify-reload": "notify",
        ]
        guard let choice = try ValueReader.choice(text, words, synonyms: synonyms) else {
            throw ValueError(message: "\(word) is a pattern; write for example listen:8080", length: text.count)
        }
        return choice
    }

    mutating func setProbe(_ text: SourceText) throws(ValueError) {
        guard !text.isEmpty else {
            probe.target = nil
            return
        }
        let word = try text.expanded(by: expansion)
        if let address = word.afterPrefix("tcp:") {
            probe.target = .connect(try Self.whole(text, try Self.peer(address)))
        } else if let path = word.afterPrefix("unix:") {
            probe.target = .connect(try Self.whole(text, try AddressReader.unix(path)))
        } else if let rest = word.afterPrefix("http://") {
            probe.target = .http(try Self.whole(text, try Self.request(rest)))
        } else if let command = word.afterPrefix("exec:") {
            probe.target = .command(try Self.shellCommand(command, text))
        } else {
            let hint = word.hasPrefix("https:") ? "; there is no TLS, use exec:curl …" : ""
            throw ValueError(
                message: "\(word.quoted()) is not one of tcp:ADDR, unix:PATH, http://ADDR/PATH or exec:CMD\(hint)",
                length: text.count)
        }
    }

    /// An error at the whole value instead of somewhere in a text that specifiers have changed.
    private static func whole<Value>(
        _ text: SourceText, _ read: @autoclosure () throws(ValueError) -> Value
    ) throws(ValueError) -> Value {
        do throws(ValueError) {
            return try read()
        } catch {
            var whole = error
            whole.offset = 0
            whole.length = text.count
            throw whole
        }
    }

    private static func shellCommand(_ command: String, _ text: SourceText) throws(ValueError) -> String {
        guard !command.allSatisfy(\.isWhitespace) else {
            throw ValueError(message: "the command is missing after exec:", length: text.count)
        }
        // MAX_ARG_STRLEN of execve(2).
        guard command.utf8.count < 131_072 else {
            throw ValueError(message: "the command is longer than 128 KiB", length: text.count)
        }
        return command
    }

    /// An address that can be connected to.
    private static func peer(_ text: String) throws(ValueError) -> NetworkAddress {
        guard !text.hasPrefix("/"), !text.hasPrefix("@") else {
            throw ValueError(message: "a Unix socket is written unix:\(text.prefix(40).shown)")
        }
        let address = try AddressReader.address(text, bareHost: .loopback)
        guard case .tcp(.any, _) = address else { return address }
        throw ValueError(message: "a probe connects to one address, not to any; write localhost:PORT")
    }

    private static func request(_ text: String) throws(ValueError) -> HTTPProbe {
        guard text.utf8.count <= 2048 else { throw ValueError(message: "the address is longer than 2 KiB") }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), !text.contains("#") else {
            throw ValueError(message: "the address may hold printable ASCII only, and no #; encode the rest as %%XX")
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

    /// `200`, `200-299`, `200 204 301-308`; with commas too.
    static func statuses(_ text: SourceText) throws(ValueError) -> [ClosedRange<Int>] {
        let parts = try ValueReader.short(text).split { $0 == "," || $0 == " " || $0 == "\t" }
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
                message: "\(text.string.quoted()) are no status codes; write for example 200-299 or 200 204",
                length: text.count)
        }
        return ranges
    }

    static func body(_ text: SourceText) throws(ValueError) -> String {
        guard text.count <= 1024 else { throw ValueError(message: "the text is longer than 1 KiB", length: text.count) }
        return text.string
    }
}

extension String {
    fileprivate func afterPrefix(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}
