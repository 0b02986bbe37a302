// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
import WatchdogReport

extension ReportComparison {
    /// How many calls, threads and images each list shows.
    private static let listed = 12

    /// Lines of at most 79 columns; the first says whether both incidents have the same cause.
    public var text: String { text(in: TextStyle()) }

    /// The text in a style: what only one of the reports has is colored as git-diff(1) shows it.
    ///
    /// Lines have at most 79 columns in any style.
    public func text(in style: TextStyle) -> String {
        lines.enumerated().map { index, line in style(line.text, line.meaning(isFirst: index == 0)) + "\n" }.joined()
    }

    /// A line, and which of the reports it is from.
    private struct Line {
        var text: String
        var side: StackPart.Side?
        var isTitle = false

        func meaning(isFirst: Bool) -> TextStyle.Meaning? {
            switch side {
            case .from: .failure
            case .to: .success
            case .both: .faint
            case nil: isFirst || isTitle ? .emphasis : nil
            }
        }
    }

    private var lines: [Line] {
        let first =
            isSameSignature
            ? "Same signature \(signatures[0].id): \(signatures[0].cause)"
            : "Different signatures \(signatures[0].id) and \(signatures[1].id)"
        var lines = [Line(text: first.singleLine(limit: 79))]
        if !isSameSignature {
            for ((mark, side), signature) in zip([("- ", StackPart.Side.from), ("+ ", .to)], signatures) {
                let event = EventWords.omission(signature.event)
                let words = "\(signature.app) · \(event) · \(signature.cause) · \(signature.path)"
                lines += Paragraph.lines(words, label: mark, limit: 2).map { Line(text: $0, side: side) }
            }
        }
        section("Verdict", verdict, &lines)
        section("Facts", facts.map(\.inWords), &lines)
        lines += Self.title("Faulting thread")
        for part in stack {
            switch part.side {
            case .from, .to: lines += calls(part.side, part.calls)
            case .both: lines.append(Line(text: "  = " + common(part.calls).singleLine(limit: 75), side: .both))
            }
        }
        if !stack.contains(where: { $0.side == .both }) { lines.append(Line(text: "  no call in common")) }
        if !(onlyBefore + onlyAfter).isEmpty {
            lines += Self.title("Other threads") + calls(.from, onlyBefore) + calls(.to, onlyAfter)
        }
        section("Images", images, &lines)
        return lines
    }

    private static func title(_ text: String) -> [Line] { [Line(text: ""), Line(text: text, isTitle: true)] }

    private func section(_ title: String, _ changes: [Change], _ lines: inout [Line]) {
        guard !changes.isEmpty else { return }
        lines += Self.title(title)
        for change in changes.prefix(Self.listed * 2) {
            let what = "  \(change.what.singleLine(limit: 24))"
            let short = "\(what): \(change.from ?? "none") -> \(change.to ?? "none")".singleLine()
            if short.count <= 79 {
                lines.append(Line(text: short))
            } else {
                lines.append(Line(text: what))
                lines.append(Line(text: "    - " + (change.from ?? "none").singleLine(limit: 73), side: .from))
                lines.append(Line(text: "    + " + (change.to ?? "none").singleLine(limit: 73), side: .to))
            }
        }
        if changes.count > Self.listed * 2 {
            lines.append(Line(text: "  and \(changes.count - Self.listed * 2) more"))
        }
    }

    private func common(_ calls: [String]) -> String {
        let first = calls.first ?? ""
        guard calls.count > 1, let last = calls.last else { return first }
        let short = { (name: String) in name.singleLine(limit: 26) }
        return "\(calls.count) calls in common, \(short(first)) to \(short(last))"
    }

    private func calls(_ side: StackPart.Side, _ names: [String]) -> [Line] {
        let mark = side == .from ? "-" : "+"
        var lines = names.prefix(Self.listed).map { "  \(mark) " + $0.singleLine(limit: 75) }
        if names.count > Self.listed { lines.append("  \(mark) and \(names.count - Self.listed) more") }
        return lines.map { Line(text: $0, side: side) }
    }

    /// The comparison as one JSON object.
    public var json: String { JSONText.of(Entry(self)) }

    private struct Entry: Encodable {
        let isSameSignature: Bool
        let signatures: [String]
        let facts, verdict, images: [Change]
        let stack: [StackPart]
        let onlyBefore, onlyAfter: [String]

        init(_ comparison: ReportComparison) {
            isSameSignature = comparison.isSameSignature
            signatures = comparison.signatures.map(\.id)
            facts = comparison.facts
            verdict = comparison.verdict
            images = comparison.images
            stack = comparison.stack
            onlyBefore = comparison.onlyBefore
            onlyAfter = comparison.onlyAfter
        }
    }
}

extension ReportComparison.Change {
    /// The change as people read it: the JSON keeps Apple's names of events.
    fileprivate var inWords: Self {
        guard what == "event" else { return self }
        return Self(what: what, from: from.map(EventWords.omission), to: to.map(EventWords.omission))
    }
}
