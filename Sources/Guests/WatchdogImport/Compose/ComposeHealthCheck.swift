// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// A service's `healthcheck`: compose-spec, and HEALTHCHECK of Dockerfiles.
struct ComposeHealthCheck {
    private let node: YAMLNode
    private let place: ImportPlace

    init(_ node: YAMLNode, _ place: ImportPlace) {
        self.node = node
        self.place = place
    }

    private func place(_ node: YAMLNode) -> ImportPlace { ImportPlace(file: place.file, line: node.line) }

    func put(into draft: inout AppDraft) {
        if let disable = node["disable"], let text = disable.scalar {
            guard let isDisabled = ComposeValue.boolean(text) else {
                return draft.note(
                    .dropped, at: place(disable),
                    "healthcheck: \(Printable.setting("disable", text)) is neither true nor false")
            }
            if isDisabled { return }
        }
        guard let test = node["test"], test.value != .null, test.items?.isEmpty != true else {
            return draft.note(.dropped, at: place, "healthcheck: the file has no test; the image has it")
        }
        // An unknown variable has already been noted.
        guard !test.isUnresolved, test.items?.contains(where: \.isUnresolved) != true else { return }
        guard let check = check(test, &draft) else { return }
        guard putProbe(check, at: place(test), &draft) else { return }
        putTimes(&draft)
    }

    // MARK: - The command

    private enum Check {
        /// A text for a shell.
        case shell(String)
        /// A program and its arguments.
        case words([String])

        var command: String {
            switch self {
            case .shell(let text): text
            case .words(let words): words.map(UnitText.shell).joined(separator: " ")
            }
        }
    }

    /// The command of `test`; nil without one, which is noted unless the file disables the check.
    private func check(_ test: YAMLNode, _ draft: inout AppDraft) -> Check? {
        func dropped(_ reason: String) -> Check? {
            draft.note(.dropped, at: place(test), "healthcheck: \(reason)")
            return nil
        }
        if let text = test.scalar { return .shell(String(text.trimmed)) }
        guard let items = test.items else { return dropped("test is neither a text nor a list") }
        let words = items.compactMap(\.scalar)
        guard words.count == items.count else { return dropped("a word of test is not a text") }
        switch words[0] {
        case "NONE": return nil
        case "CMD":
            return words.count > 1 ? .words(Array(words.dropFirst())) : dropped("no command follows CMD")
        case "CMD-SHELL":
            guard words.count > 1 else { return dropped("no command follows CMD-SHELL") }
            let text = String(words[1].trimmed)
            let rest = words.dropFirst(2)
            guard !rest.isEmpty else { return .shell(text) }
            let shown = Printable.quoted(rest.joined(separator: " "))
            draft.note(
                .changed, at: place(test),
                "healthcheck: the shell of CMD-SHELL runs the first text alone, \(Printable.quoted(text)); "
                    + "\(shown) only becomes its arguments $0, $1 and so on")
            // A shell is needed only for a command with variables.
            return text.contains("$") ? .words(["/bin/sh", "-c", text] + rest) : .shell(text)
        default: return dropped("test begins with neither CMD, CMD-SHELL nor NONE")
        }
    }

    private func putProbe(_ check: Check, at place: ImportPlace, _ draft: inout AppDraft) -> Bool {
        if let page = Self.page(check), draft.put(.probe, UnitText.escapedSpecifiers(page.address)) == nil {
            let effect = page.followsRedirects ? "; it does not follow redirects, which count as success" : ""
            draft.note(
                .changed, at: place, "healthcheck: the command became Probe=\(page.address.singleLine())\(effect)")
            return true
        }
        return draft.carry(
            .probe, UnitText.escapedSpecifiers("exec:\(check.command)"), of: "healthcheck", at: place)
    }

    /// The page, if the command only requests one from this machine, and fails in the same cases as an http probe:
    /// `curl -f http://localhost:8080/health`.
    private static func page(_ check: Check) -> (address: String, followsRedirects: Bool)? {
        var words: [String]
        switch check {
        case .words(let all): words = all
        case .shell(let whole):
            var text = whole[...]
            for tail in ["|| exit 1", "||exit 1", "|| false"] where text.hasSuffix(tail) {
                text = text.dropLast(tail.count).trimmed
                break
            }
            guard !ShellWords.needShell(String(text)), let split = try? ShellWords.split(String(text)) else {
                return nil
            }
            words = split
        }
        guard !words.isEmpty else { return nil }
        let program = words.removeFirst().split(separator: "/").last
        let options = words.filter { $0.hasPrefix("-") }
        let others = words.filter { !$0.hasPrefix("-") }
        guard others.count == 1, isPage(others[0]) else { return nil }
        switch program {
        case "curl":
            // Without -f, curl succeeds for any HTTP status.
            let names = options.flatMap { option in
                option.hasPrefix("--") ? [option] : option.dropFirst().map { "-\($0)" }
            }
            let plain: Set<String> = ["-f", "--fail", "-s", "--silent", "-S", "--show-error"]
            guard !options.contains("-"), plain.isSuperset(of: names), names.contains("-f") || names.contains("--fail")
            else { return nil }
            return (others[0], false)
        case "wget":
            let plain: Set<String> = ["-q", "--quiet", "--spider", "-qO-", "--no-verbose", "-nv", "--tries=1"]
            return plain.isSuperset(of: options) ? (others[0], true) : nil
        default: return nil
        }
    }

    /// Whether an address is plain HTTP on this machine, without characters that a client would expand.
    private static func isPage(_ text: String) -> Bool {
        guard let address = text.dropping("http://") else { return false }
        let authority = address.prefix { $0 != "/" && $0 != "?" }
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        // Accept only the container's own address: in compose, other names are other services.
        guard ["localhost", "127.0.0.1"].contains(parts[0]), parts.count == 1 || UInt16(parts[1]) != nil else {
            return false
        }
        let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/?&=_-.,:;~%+@"
        return address.dropFirst(authority.count).allSatisfy { plain.contains($0) }
    }

    // MARK: - Times

    private func putTimes(_ draft: inout AppDraft) {
        // The defaults of HEALTHCHECK.
        let interval = span("interval", .seconds(30), &draft)
        let timeout = span("timeout", .seconds(30), &draft)
        let start = span("start_period", .zero, &draft)
        draft.set(.probeInterval, TimeSpan.format(interval))
        draft.set(.probeTimeout, TimeSpan.format(timeout))
        var retries = 3
        draft.set(.probeThreshold, "3")
        // 0 means the default.
        if let node = node["retries"], let text = node.scalar, text != "0" {
            let isSet = draft.carry(.probeThreshold, text, of: Printable.setting("retries", text), at: place(node))
            if isSet { retries = Int(text) ?? retries }
        }
        if let node = node["start_interval"], let text = node.scalar {
            draft.note(
                .dropped, at: place(node),
                "healthcheck: \(Printable.setting("start_interval", text)): probes come at ProbeInterval= from the start on"
            )
        }
        // During the start period, failures do not make the container unhealthy.
        let launch = start + interval * retries
        draft.set(.readiness, "probe")
        draft.carry(.launch, TimeSpan.format(launch), of: "healthcheck", at: place)
        draft.note(
            .changed, at: place,
            "healthcheck: Docker only marks an unhealthy container, watchdogd kills the app and restarts it by Policy=")
        let known: Set = ["test", "disable", "interval", "timeout", "start_period", "start_interval", "retries"]
        for entry in node.entries ?? [] where !known.contains(entry.key) && !entry.key.hasPrefix("x-") {
            draft.note(
                .dropped, at: ImportPlace(file: place.file, line: entry.line),
                "healthcheck: \(entry.key.singleLine(limit: 40)) is not a setting of health checks")
        }
    }

    private func span(_ key: String, _ standard: Duration, _ draft: inout AppDraft) -> Duration {
        guard let node = node[key], let text = node.scalar else { return standard }
        // At least the minimum of an app file, at most a day, so that the sum cannot overflow.
        let least: Duration = key == "start_period" ? .zero : .milliseconds(1)
        if let span = ComposeValue.duration(text), (least...(.seconds(86_400))).contains(span) { return span }
        draft.note(
            .dropped, at: place(node),
            "healthcheck: \(Printable.setting(key, text)) is not a time span such as 1m30s; the default is "
                + TimeSpan.format(standard))
        return standard
    }
}
