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

    func put(into draft: inout AppDraft, _ service: ComposeService) {
        guard node["disable"]?.scalar != "true" else { return }
        guard let test = node["test"] else {
            return draft.note(.dropped, at: place, "healthcheck: the file has no test; the image has it")
        }
        let at = service.place(test)
        var command: String
        do throws(ComposeVariables.Unknown) {
            guard let text = try shellCommand(test) else { return }
            command = text
        } catch {
            return draft.note(.dropped, at: at, "healthcheck: \(error.message)")
        }
        command = String(command.trimmed)
        let url = Self.address(command)
        let value = url ?? "exec:\(command)"
        guard draft.carry(.probe, UnitText.escapedSpecifiers(value), of: "healthcheck", at: at) else { return }
        if let url { draft.note(.changed, at: at, "healthcheck: the command became Probe=\(Printable.text(url))") }
        putTimes(&draft, service)
    }

    /// What the shell runs; nil for no check.
    private func shellCommand(_ test: YAMLNode) throws(ComposeVariables.Unknown) -> String? {
        guard let items = test.items?.map({ $0.scalar ?? "" }) else {
            return try ComposeVariables.replaced(test.scalar ?? "")
        }
        switch items.first {
        case "NONE": return nil
        case "CMD-SHELL": return try ComposeVariables.replaced(items.dropFirst().joined(separator: " "))
        case "CMD":
            var words: [String] = []
            for word in items.dropFirst() { words.append(UnitText.shell(try ComposeVariables.replaced(word))) }
            return words.joined(separator: " ")
        default: throw ComposeVariables.Unknown(message: "test begins with neither CMD, CMD-SHELL nor NONE")
        }
    }

    /// The address, if the command only asks this machine for a page: `curl -f http://localhost:8080/health`.
    static func address(_ command: String) -> String? {
        var text = command[...]
        for tail in ["|| exit 1", "|| false"] where text.hasSuffix(tail) { text = text.dropLast(tail.count).trimmed }
        guard !ShellWords.needShell(String(text)), var words = try? ShellWords.split(String(text)), !words.isEmpty
        else {
            return nil
        }
        let plain: Set<String>
        switch words.removeFirst().split(separator: "/").last {
        case "curl":
            plain = [
                "-f", "--fail", "-s", "--silent", "-S", "--show-error", "-sS", "-fsS", "-sf", "-fs", "-sSf", "-fSs",
            ]
        case "wget": plain = ["-q", "--quiet", "--spider", "-qO-", "--no-verbose", "-nv", "--tries=1"]
        default: return nil
        }
        let rest = words.filter { !plain.contains($0) }
        guard rest.count == 1, let address = rest.first?.dropping("http://") else { return nil }
        let host = address.prefix { $0 != "/" && $0 != ":" && $0 != "?" }
        // A container's own address: in compose, other names are other services.
        guard host == "localhost" || host == "127.0.0.1" else { return nil }
        return "http://\(address)"
    }

    private func putTimes(_ draft: inout AppDraft, _ service: ComposeService) {
        // The defaults of HEALTHCHECK.
        let interval = span("interval", .seconds(30), &draft, service)
        let timeout = span("timeout", .seconds(30), &draft, service)
        let start = span("start_period", .zero, &draft, service)
        draft.set(.probeInterval, TimeSpan.format(interval))
        draft.set(.probeTimeout, TimeSpan.format(timeout))
        var retries = 3
        if let node = node["retries"], let text = node.scalar {
            let isSet = draft.carry(
                .probeThreshold, text, of: Printable.setting("retries", text), at: service.place(node))
            if isSet { retries = Int(text) ?? retries }
        } else {
            draft.set(.probeThreshold, "3")
        }
        // Until then, no failure makes the container unhealthy.
        let launch = start + interval * retries
        draft.set(.readiness, "probe")
        draft.carry(.launch, TimeSpan.format(launch), of: "healthcheck", at: place)
        draft.note(
            .changed, at: place,
            "healthcheck: Docker only marks an unhealthy container, watchdogd kills the app and restarts it by Policy=")
    }

    private func span(
        _ key: String, _ standard: Duration, _ draft: inout AppDraft, _ service: ComposeService
    ) -> Duration {
        guard let node = node[key], let text = node.scalar else { return standard }
        // At least what an app file accepts, at most a day: the sum must not overflow.
        let least: Duration = key == "start_period" ? .zero : .milliseconds(1)
        if let span = try? TimeSpan.parse(text), (least...(.seconds(86_400))).contains(span) {
            return span
        }
        draft.note(.dropped, at: service.place(node), "healthcheck: \(Printable.setting(key, text)) is not a time span")
        return standard
    }
}
