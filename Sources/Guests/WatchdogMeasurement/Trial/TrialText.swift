// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The findings of a trial, for people.
public struct TrialText: Sendable {
    private let findings: TrialFindings

    /// Describes findings.
    public init(_ findings: TrialFindings) { self.findings = findings }

    /// One line for each finding.
    public var lines: [String] {
        var lines: [String] = []
        if let hello = findings.hello { lines.append("opened the channel after \(hello.brief)") }
        if let ready = findings.ready {
            lines.append(
                "READY=1 after \(ready.time.brief), \(ready.source == .channel ? "channel" : "sd_notify")")
        } else {
            lines.append("no READY=1 in \(findings.observed.brief)")
        }
        if findings.heartbeats > 0 {
            lines.append("WATCHDOG=1 \(findings.heartbeats.counted("time"))")
        }
        for listener in findings.listeners { lines.append(Self.line(listener)) }
        if findings.listeners.isEmpty { lines.append("listens nowhere") }
        lines.append(end)
        return lines
    }

    private static func line(_ listener: TrialFindings.Listener) -> String {
        let answer = listener.httpStatus.map { "; answered GET / with \($0)" } ?? ""
        return "listens on \(listener.address) after \(listener.time.brief)\(answer)"
    }

    private var end: String {
        switch findings.end {
        case .terminated(let time): return "exited \(time.brief) after SIGTERM"
        case .killed(let time): return "did not exit within \(time.brief) of SIGTERM; killed"
        case .exited(let code, let time): return "exited by itself after \(time.brief), with code \(code)"
        }
    }
}
