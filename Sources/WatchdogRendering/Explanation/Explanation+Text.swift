// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport

extension Explanation {
    /// At most 25 lines of at most 79 columns.
    public var text: String {
        let name = app.singleLine(limit: 32)
        let time = String(when.singleLine().prefix(19))
        var lines = ["\(name)[\(pid)] · \(event.singleLine(limit: 20)) · \(time)".singleLine(limit: 79)]
        lines += Paragraph.lines(verdict, limit: 2)
        lines.append("")
        if let missed {
            lines += Paragraph.lines(missed.words, label: missed.label.alignedLeft(11), limit: 2)
        }
        if let allowance { lines += Paragraph.lines(allowance, label: "Allowance  ", limit: 2) }
        if let launch { lines += Paragraph.lines(launch, label: "Launch     ", limit: 2) }
        if let blame {
            lines += Paragraph.lines("\(blame.party.rawValue): \(blame.reason).", label: "Fault      ", limit: 3)
        }
        lines += stack
        for other in others {
            let title = other.name.map { "thread \(other.index) (\($0))" } ?? "thread \(other.index)"
            let words = "\(title): \(other.activity)"
            lines += Paragraph.lines(words, label: other.isNamed ? "Named      " : "Also       ", limit: 1)
        }
        lines += Paragraph.lines(advice, label: "What to do ", limit: launch == nil ? 7 : 5)
        for (index, line) in confidence.prefix(3).enumerated() {
            lines += Paragraph.lines(line, label: index == 0 ? "How sure   " : "           ", limit: index == 0 ? 2 : 1)
        }
        lines.append("Signature  \(signature.id) · incident \(incident.singleLine(limit: 36))")
        return lines.map { $0 + "\n" }.joined()
    }

    /// The blocking call, followed by the app's calls that led to it.
    private var stack: [String] {
        guard let innermost else { return ["Stack      none of the faulting thread"] }
        var rows: [(String, Call)] = []
        if calls.first?.number != innermost.number { rows.append(("In         ", innermost)) }
        for call in calls { rows.append((call.number == calls.first?.number ? "From       " : "           ", call)) }
        return rows.map { label, call in
            let place = call.source.map { " (\($0.singleLine(limit: 30)))" } ?? ""
            let suffix = place + (call.isApplication ? "" : " in \(call.image.singleLine(limit: 16))")
            return label + call.function.singleLine(limit: max(8, 79 - label.count - suffix.count)) + suffix
        }
    }

    /// The explanation as one JSON object.
    public var json: String { JSONText.of(Entry(self)) }

    private struct Entry: Encodable {
        let incident, app, event, when, verdict: String
        let pid: Int
        let missed: MissedDetails?
        let allowance: String?
        let launch: String?
        let innermost: Call?
        let calls: [Call]
        let others: [OtherThread]
        let blame: Blame?
        let advice: String
        let confidence: [String]
        let signature: String

        init(_ explanation: Explanation) {
            incident = explanation.incident
            app = explanation.app
            event = explanation.event
            when = explanation.when
            verdict = explanation.verdict
            pid = explanation.pid
            missed = explanation.missed
            allowance = explanation.allowance
            launch = explanation.launch
            innermost = explanation.innermost
            calls = explanation.calls
            others = explanation.others
            blame = explanation.blame
            advice = explanation.advice
            confidence = explanation.confidence
            signature = explanation.signature.id
        }
    }
}
