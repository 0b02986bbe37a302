// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What a trial saw, for people.
public struct TrialText: Sendable {
    private let findings: TrialFindings

    /// Describes findings.
    public init(_ findings: TrialFindings) { self.findings = findings }

    /// One line for each finding.
    public var lines: [String] {
        var lines: [String] = []
        if let hello = findings.hello { lines.append("opened the channel after \(Self.span(hello))") }
        if let ready = findings.ready {
            lines.append(
                "READY=1 after \(Self.span(ready.time)), \(ready.source == .channel ? "channel" : "sd_notify")")
        } else {
            lines.append("no READY=1 in \(Self.span(findings.observed))")
        }
        if findings.heartbeats > 0 {
            lines.append("WATCHDOG=1 \(findings.heartbeats) time\(findings.heartbeats == 1 ? "" : "s")")
        }
        for listener in findings.listeners { lines.append(Self.line(listener)) }
        if findings.listeners.isEmpty { lines.append("listens nowhere") }
        lines.append(end)
        return lines
    }

    private static func line(_ listener: TrialFindings.Listener) -> String {
        let answer = listener.httpStatus.map { "; answered GET / with \($0)" } ?? ""
        return "listens on \(listener.address) after \(span(listener.time))\(answer)"
    }

    private var end: String {
        switch findings.end {
        case .terminated(let time): return "exited \(Self.span(time)) after SIGTERM"
        case .killed(let time): return "did not exit within \(Self.span(time)) of SIGTERM; killed"
        case .exited(let code, let time): return "exited by itself after \(Self.span(time)), with code \(code)"
        }
    }

    /// A time to three digits: `52 ms`, `1.25 s`.
    public static func span(_ time: Duration) -> String {
        let milliseconds = max(0, time.nanoseconds) / 1_000_000
        guard milliseconds >= 1_000 else { return "\(milliseconds) ms" }
        let hundredths = milliseconds / 10
        let fraction = String(hundredths % 100 + 100).dropFirst()
        return hundredths < 1_000 ? "\(hundredths / 100).\(fraction) s" : "\(hundredths / 100) s"
    }
}
