// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
import WatchdogReport

extension Explanation {
    /// The width of the text unless a style has another, one less than a terminal's usual 80.
    private static let width = 79
    /// Wider text is tiring to read.
    private static let widest = 119

    /// At most 28 lines of at most 79 columns, up to four more if there is a headline, three if the wait leads to other processes, one
    /// if calls have no names.
    public var text: String { text(in: TextStyle()) }

    /// The text in a style: up to 119 columns where the terminal has them.
    ///
    /// - Parameter zone: returns the reader's time zone at a time; nil for the report's own.
    public func text(in style: TextStyle, zone: ((WallTime) -> LocalZone)? = nil) -> String {
        let width = min(max(Self.width, style.columns ?? 0), Self.widest)
        func lines(_ text: String, label: String = "", limit: Int) -> [String] {
            Paragraph.lines(text, label: label, width: width, limit: limit)
        }
        let name = app.singleLine(limit: 32)
        let what = EventWords.omission(event).singleLine(limit: 20)
        let title = "\(name)[\(pid)] · \(what) · \(time(in: zone))"
        var result = [style(title.singleLine(limit: width), .emphasis)]
        if let headline { result += lines(headline, limit: 4).map { style($0, .failure) } }
        result += lines(verdict, limit: 3).map { style($0, headline == nil ? .failure : nil) }
        result.append("")
        if let cause { result += lines("\(cause).", label: "Cause      ", limit: 3) }
        if let missed { result += lines(missed.words, label: missed.label.alignedLeft(11), limit: 2) }
        if let allowance { result += lines(allowance, label: "Allowance  ", limit: 2) }
        if let launch { result += lines(launch, label: "Launch     ", limit: 2) }
        if let blame { result += lines("\(blame.party.rawValue): \(blame.reason).", label: "Fault      ", limit: 3) }
        result += stack(width: width, style)
        for other in others {
            let title = other.name.map { "thread \(other.index) (\($0))" } ?? "thread \(other.index)"
            let words = "\(title): \(other.activity)"
            result += lines(words, label: other.label.alignedLeft(11), limit: 1)
        }
        result += lines(advice, label: "What to do ", limit: launch == nil ? 7 : 5).map { style($0, .success) }
        for (index, line) in confidence.prefix(3).enumerated() {
            result += lines(line, label: index == 0 ? "How sure   " : "           ", limit: 2)
        }
        let identity = "Signature  \(signature.id) · incident \(incident.singleLine(limit: 36))"
        result.append(style(identity, .faint))
        return result.map { $0 + "\n" }.joined()
    }

    /// When the report was taken, with the zone; a time that cannot be read is shown as it stands.
    private func time(in zone: ((WallTime) -> LocalZone)?) -> String {
        guard let time = WallTime(when) else { return String(when.singleLine().prefix(19)) }
        return (zone?(time) ?? LocalZone(utcOffset: time.utcOffset)).text(time)
    }

    /// The blocking call, followed by the app's calls that led to it.
    private func stack(width: Int, _ style: TextStyle) -> [String] {
        guard let innermost else { return ["Stack      none of the faulting thread"] }
        func line(_ label: String, _ call: Call) -> String {
            let place = call.source.map { " (\($0.singleLine(limit: 30)))" } ?? ""
            let suffix = place + (call.isApplication ? "" : " in \(call.image.singleLine(limit: 16))")
            let function = call.function.singleLine(limit: max(8, width - label.count - suffix.count))
            return label + style(function + suffix, call.isApplication ? .emphasis : nil)
        }
        var rows: [String] = []
        if let joined {
            rows.append("Thread     \(joined), for whose end the main thread waits".singleLine(limit: width))
        }
        if let goroutine { rows.append("Goroutine  \(goroutine)".singleLine(limit: width)) }
        if calls.first?.number != innermost.number, !isInnermostFolded { rows.append(line("In         ", innermost)) }
        var label = isInnermostFolded ? "In         " : "From       "
        if foldedCount > 0 {
            let words = Self.unnamedCalls(foldedCount)
            rows.append(label + style(isInnermostFolded ? "\(words), called by" : "\(words), then", .faint))
            label = "           "
        }
        for call in calls {
            rows.append(line(label, call))
            label = "           "
        }
        return rows
    }

    /// The explanation as one JSON object.
    public var json: String { JSONText.of(Entry(self)) }

    private struct Entry: Encodable {
        let incident, app, event, when: String
        let headline, culprit, cause: String?
        let verdict: String
        let pid: Int
        let missed: MissedDetails?
        let allowance: String?
        let launch: String?
        let joined: String?
        let goroutine: String?
        let innermost: Call?
        let calls: [Call]
        let others: [OtherThread]
        let stacks: [Stack]
        let blame: Blame?
        let advice: String
        let confidence: [String]
        let signature: String

        init(_ explanation: Explanation) {
            incident = explanation.incident
            app = explanation.app
            event = explanation.event
            when = explanation.when
            headline = explanation.headline
            culprit = explanation.culprit
            cause = explanation.cause
            verdict = explanation.verdict
            pid = explanation.pid
            missed = explanation.missed
            allowance = explanation.allowance
            launch = explanation.launch
            joined = explanation.joined
            goroutine = explanation.goroutine
            innermost = explanation.innermost
            calls = explanation.calls
            others = explanation.others
            stacks = explanation.stacks
            blame = explanation.blame
            advice = explanation.advice
            confidence = explanation.confidence
            signature = explanation.signature.id
        }
    }
}
