// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// An `if … then …` of monit.
struct MonitTest {
    private let statement: MonitFile.Statement
    private let cycle: Duration

    init(_ statement: MonitFile.Statement, cycle: Duration) {
        self.statement = statement
        self.cycle = cycle
    }

    func put(into draft: inout AppDraft) {
        let action = statement.after("then")?.keyword ?? ""
        let isRestart = action == "restart" || action == "start"
        if let count = statement.tokens.dropFirst().first, statement.has("restarts") || statement.has("restart"),
            Int(count.text) != nil
        {
            putLimit(count.text, action, &draft)
        } else if statement.has("failed") || statement.has("unixsocket") || statement.has("port") {
            guard isRestart else {
                return drop(&draft, "watchdogd always kills and restarts an app whose probe fails")
            }
            putProbe(&draft)
        } else if statement.has("exist") || statement.has("exists") || statement.has("pid") {
            guard !isRestart, action != "alert" else { return }
            drop(&draft, "Policy= decides whether the app restarts after it exits")
        } else if statement.has("memory"), isRestart {
            putMemory(&draft)
        } else {
            drop(&draft, "watchdogd watches whether the app answers, not how much it uses")
        }
    }

    private func drop(_ draft: inout AppDraft, _ reason: String) {
        draft.note(.dropped, at: statement.place, "\(statement.shown): \(reason)")
    }

    /// The number before `cycle` or `cycles`.
    private var cycles: Int? {
        guard let index = statement.tokens.firstIndex(where: { ["cycle", "cycles"].contains($0.keyword) }), index > 0
        else { return nil }
        return Int(statement.tokens[index - 1].text)
    }

    // MARK: - Restarts

    private func putLimit(_ count: String, _ action: String, _ draft: inout AppDraft) {
        guard ["timeout", "unmonitor", "stop"].contains(action) else {
            return drop(&draft, "AtLimit= either stops or keeps retrying")
        }
        let interval = cycle * max(1, min(cycles ?? 1, 10_000))
        guard draft.carry(.limit, count, of: statement.shown, at: statement.place) else { return }
        draft.set(.limitInterval, TimeSpan.format(interval))
        draft.set(.atLimit, "stop")
    }

    // MARK: - Probes

    private func putProbe(_ draft: inout AppDraft) {
        guard !draft.has(.probe) else { return drop(&draft, "an app has one Probe=") }
        let protocolName = statement.after("protocol")?.keyword ?? statement.after("proto")?.keyword
        let isEncrypted =
            protocolName == "https" || statement.has("tcpssl") || statement.has("ssl") || statement.has("tls")
        guard !isEncrypted else { return drop(&draft, "no probe speaks TLS; use Probe=exec:curl …") }
        guard !statement.has("udp") else { return drop(&draft, "no probe speaks UDP; use Probe=exec:…") }
        let target: String
        if let path = statement.after("unixsocket") ?? statement.after("unix") {
            target = "unix:" + path.text
        } else if let port = statement.after("port") {
            let host = statement.after("host")?.text ?? "localhost"
            let bracketed = host.contains(":") ? "[\(host)]" : host
            target =
                protocolName == "http"
                ? "http://\(bracketed):\(port.text)\(statement.after("request")?.text ?? "/")"
                : "tcp:\(bracketed):\(port.text)"
        } else {
            return drop(&draft, "it has neither a port nor a unixsocket")
        }
        let value = UnitText.escapedSpecifiers(target)
        guard draft.carry(.probe, value, of: statement.shown, at: statement.place) else { return }
        draft.carry(.probeInterval, TimeSpan.format(cycle), of: "set daemon", at: statement.place)
        // monit gives a connection 5 seconds unless told otherwise: monit(1), "CONNECTION TESTS".
        let time = statement.after("timeout")?.text ?? "5"
        draft.carry(.probeTimeout, "\(time)s", of: "timeout \(time)", at: statement.place)
        // `for 3 cycles`, or `3 times within 5 cycles`.
        let times = statement.tokens.firstIndex { $0.keyword == "times" }.flatMap { Int(statement.tokens[$0 - 1].text) }
        draft.carry(.probeThreshold, String(times ?? cycles ?? 1), of: statement.shown, at: statement.place)
        if protocolName == "http" {
            if let body = statement.after("content") {
                draft.carry(.probeBody, body.text, of: "content \(Printable.quoted(body.text))", at: body.place)
            }
            if let status = statement.after("status") {
                draft.carry(.probeStatus, status.text, of: "status \(Printable.text(status.text))", at: status.place)
            }
        } else if let protocolName, protocolName != "default" {
            draft.note(
                .changed, at: statement.place,
                "protocol \(Printable.text(protocolName, limit: 20)) became a probe that only connects")
        }
    }

    // MARK: - Memory

    private func putMemory(_ draft: inout AppDraft) {
        guard let mark = statement.tokens.firstIndex(where: { [">", "gt", "greater"].contains($0.keyword) }),
            statement.tokens.indices.contains(mark + 1)
        else { return drop(&draft, "MemoryMax= can only set an upper limit") }
        // `200MB` is one word, `200 MB` are two.
        let word = statement.tokens[mark + 1].text
        let number = word.prefix { $0.isNumber || $0 == "." }
        let next = statement.tokens.dropFirst(mark + 2).first?.text ?? ""
        let unit = (number.count < word.count ? String(word.dropFirst(number.count)) : next).uppercased()
        guard unit != "%", let suffix = ["B": "", "KB": "K", "MB": "M", "GB": "G"][unit] else {
            return drop(&draft, "set the limit as a size with MemoryMax=")
        }
        guard draft.carry(.memoryMax, number + suffix, of: statement.shown, at: statement.place) else { return }
        draft.note(
            .changed, at: statement.place,
            "\(statement.shown) became MemoryMax=\(number)\(suffix): at once, and by the kernel")
    }
}
