// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport

extension ReportComparison {
    /// How many calls, threads and images each list shows.
    private static let listed = 12

    /// Lines of at most 79 columns; the first says whether both incidents have the same cause.
    public var text: String {
        var lines = [
            isSameSignature
                ? "Same signature \(signatures[0].id): \(signatures[0].cause)"
                : "Different signatures \(signatures[0].id) and \(signatures[1].id)"
        ].map { $0.singleLine(limit: 79) }
        if !isSameSignature {
            for (mark, signature) in zip(["- ", "+ "], signatures) {
                let words = "\(signature.app) · \(signature.event) · \(signature.cause) · \(signature.path)"
                lines += Paragraph.lines(words, label: mark, limit: 2)
            }
        }
        section("Verdict", verdict, &lines)
        section("Facts", facts, &lines)
        lines += ["", "Faulting thread"]
        for part in stack {
            switch part.side {
            case .from: lines += calls("-", part.calls)
            case .to: lines += calls("+", part.calls)
            case .both: lines.append("  = " + common(part.calls).singleLine(limit: 75))
            }
        }
        if !stack.contains(where: { $0.side == .both }) { lines.append("  no call in common") }
        if !(onlyBefore + onlyAfter).isEmpty {
            lines += ["", "Other threads"] + calls("-", onlyBefore) + calls("+", onlyAfter)
        }
        section("Images", images, &lines)
        return lines.map { $0 + "\n" }.joined()
    }

    private func section(_ title: String, _ changes: [Change], _ lines: inout [String]) {
        guard !changes.isEmpty else { return }
        lines += ["", title]
        for change in changes.prefix(Self.listed * 2) {
            let what = "  \(change.what.singleLine(limit: 24))"
            let short = "\(what): \(change.from ?? "none") -> \(change.to ?? "none")".singleLine()
            if short.count <= 79 {
                lines.append(short)
            } else {
                lines.append(what)
                lines.append("    - " + (change.from ?? "none").singleLine(limit: 73))
                lines.append("    + " + (change.to ?? "none").singleLine(limit: 73))
            }
        }
        if changes.count > Self.listed * 2 { lines.append("  and \(changes.count - Self.listed * 2) more") }
    }

    private func common(_ calls: [String]) -> String {
        let first = calls.first ?? ""
        guard calls.count > 1, let last = calls.last else { return first }
        let short = { (name: String) in name.singleLine(limit: 26) }
        return "\(calls.count) calls in common, \(short(first)) to \(short(last))"
    }

    private func calls(_ mark: String, _ names: [String]) -> [String] {
        let lines = names.prefix(Self.listed).map { "  \(mark) " + $0.singleLine(limit: 75) }
        return names.count > Self.listed ? lines + ["  \(mark) and \(names.count - Self.listed) more"] : lines
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
