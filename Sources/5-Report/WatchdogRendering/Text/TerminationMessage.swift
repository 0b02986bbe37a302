// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport

/// Why a container ended, for the file that its orchestrator shows as the last state: Kubernetes's
/// `terminationMessagePath`.
public enum TerminationMessage {
    /// The most that Kubernetes keeps of one container, in bytes.
    public static let limit = 4_096

    /// The message; the identifiers at its end are always whole, unless a path is absurdly long.
    ///
    /// - Parameters:
    ///   - headline: what happened, in one line.
    ///   - time: when it happened, in words, if that can be long ago.
    ///   - explanation: what the report says; nil without one.
    ///   - report: the path of the report.
    public static func text(
        _ headline: String, at time: String? = nil, _ explanation: Explanation?, report: String?
    ) -> String {
        var lines = [line(headline, bytes: 480)]
        if let time { lines.append(line("Time: \(time)", bytes: 64)) }
        if let explanation {
            if let culprit = explanation.culprit { lines.append(line(culprit, bytes: 480)) }
            lines.append(line(explanation.verdict, bytes: 600))
            lines.append(line("Event: \(explanation.event)", bytes: 64))
            if let blame = explanation.blame {
                lines.append(line("Fault: \(blame.party.rawValue): \(blame.reason)", bytes: 480))
            }
            lines += calls(explanation).enumerated().map { index, call in
                line((index == 0 ? "In: " : "From: ") + call, bytes: 240)
            }
            lines.append(line("Incident: \(explanation.incident)", bytes: 64))
        }
        if let report { lines.append(line("Report: \(report)", bytes: 1_024)) }
        return lines.map { $0 + "\n" }.joined().bounded(bytes: limit)
    }

    /// The call in which the thread blocks, then the app's own calls that led there, innermost first.
    private static func calls(_ explanation: Explanation) -> [String] {
        var calls = explanation.calls
        if let innermost = explanation.innermost, calls.first?.number != innermost.number {
            calls.insert(innermost, at: 0)
        }
        return calls.map { call in
            call.function + (call.source.map { " (\($0))" } ?? "") + (call.isApplication ? "" : " in \(call.image)")
        }
    }

    private static func line(_ text: String, bytes: Int) -> String {
        text.singleLine(limit: bytes).bounded(bytes: bytes)
    }
}
