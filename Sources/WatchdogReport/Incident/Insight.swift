// SPDX-License-Identifier: Apache-2.0

/// What stacks say when they are read together: with names, with each other, and over time.
struct Insight {
    let findings: [Finding]
    let stages: StackStages?
    let samples: SampleDetails?
    /// The stack of whoever holds what the main thread waits for, for the lines beside the verdict.
    let holders: [String]

    private static let holderFrames = 6

    init(_ facts: IncidentFacts, _ capture: CapturedProcess?) {
        let main = facts.mainThread ?? facts.pid
        findings = Finding.all(in: capture, main: main, evidence: facts.evidence).map { finding in
            Finding(
                kind: finding.kind, text: finding.text.singleLine(limit: ReportLimits.lineLength),
                source: finding.source.singleLine(limit: 255), thread: finding.thread)
        }
        let frames = capture?.threads.first { $0.id == main }?.frames ?? []
        stages =
            facts.kind == .watchdog
            ? facts.samples.flatMap {
                StackStages(samples: $0, frames: frames, main: main, first: facts.samplesBegan, last: facts.elapsed)
            } : nil
        samples = facts.samples.flatMap { SampleDetails($0, main: main, began: facts.samplesBegan) }
        let named =
            facts.evidence.waits.compactMap { $0.holder?.process == facts.pid ? $0.holder?.thread : nil }
            + findings.compactMap(\.thread)
        var seen: Set<Int> = [main]
        holders = named.filter { seen.insert($0).inserted }.prefix(4).compactMap { id in
            capture?.threads.enumerated().first { $0.element.id == id }.flatMap {
                Self.holderLine($0.offset, $0.element)
            }
        }
    }

    /// The innermost calls of a thread that holds something; nil when none are known.
    static func holderLine(_ index: Int, _ thread: CapturedThread) -> String? {
        let calls = thread.frames.prefix { $0.trust != .scan }.filter { !$0.isInlined }
        guard !calls.isEmpty else { return nil }
        let words = calls.prefix(holderFrames).map { frame in
            let source = frame.sourceFile?.split(separator: "/").last.map { " (\($0):\(frame.sourceLine ?? 0))" } ?? ""
            return (frame.symbol ?? "???").singleLine(limit: 128) + source.singleLine(limit: 128)
        }
        let more = calls.count > holderFrames ? " < ..." : ""
        return "Holder: Thread \(index) (\(thread.name.singleLine(limit: 32))): " + words.joined(separator: " < ")
            + more
    }
}
