// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

/// Findings from all stacks together: with names, across threads, and over time.
struct Insight {
    let findings: [Finding]
    let stages: StackStages?
    let samples: SampleDetails?
    /// The stacks of the threads that hold what the main thread waits for, as lines below the verdict.
    let holders: [String]

    private static let holderFrames = 6

    init(_ facts: IncidentFacts, _ capture: CapturedProcess?) {
        let main = facts.mainThread ?? facts.pid
        // A thread's wait is not the cause of a crash.
        let all =
            facts.crash == nil
            ? Finding.all(
                in: capture, main: main, evidence: facts.evidence, samples: facts.samples, tree: Self.tree(facts),
                awaits: facts.kind == .capture ? .nothing : facts.missed?.kind == .readiness ? .readiness : .answer)
            : []
        findings = all.map { finding in
            var finding = facts.link?.renaming(finding) ?? finding
            finding.text = finding.text.singleLine(limit: ReportLimits.lineLength)
            finding.source = finding.source.singleLine(limit: 255)
            return finding
        }
        let frames = capture?.threads.first { $0.id == main }?.frames ?? []
        stages =
            facts.kind == .watchdog
            ? facts.samples.flatMap {
                StackStages(samples: $0, frames: frames, main: main, first: facts.samplesBegan, last: facts.elapsed)
            } : nil
        samples = facts.renamedSamples.flatMap { SampleDetails($0, main: main, began: facts.samplesBegan) }
        let named =
            facts.evidence.waits.compactMap { $0.holder?.process == facts.pid ? $0.holder?.thread : nil }
            + findings.compactMap(\.thread)
        var seen: Set<Int> = [main]
        let others = Set(findings.filter { $0.kind == .otherThread }.compactMap(\.thread))
        holders = named.filter { seen.insert($0).inserted }.prefix(4).compactMap { id in
            capture?.threads.enumerated().first { $0.element.id == id }.flatMap {
                Self.stackLine(others.contains(id) ? Self.other : Self.holder, $0.offset, $0.element)
            }
        }
    }

    /// The app's processes; nil unless the main thread slept, because only then they can be the cause.
    private static func tree(_ facts: IncidentFacts) -> Descendants? {
        guard !facts.others.isEmpty, Verdict(judging: facts.judgedEvidence).mayWaitForOthers else { return nil }
        return Descendants(main: facts.pid, others: Array(facts.others.prefix(ReportLimits.processes)))
    }

    /// The labels of lines with the innermost calls of a thread other than the main one.
    static let holder = "Holder"
    static let other = "Other"

    /// The innermost calls of a thread; nil if unknown.
    static func stackLine(_ label: String, _ index: Int, _ thread: CapturedThread) -> String? {
        let calls = thread.frames.prefix { $0.trust != .scan }.filter { !$0.isInlined }
        guard !calls.isEmpty else { return nil }
        let words = calls.prefix(holderFrames).map { frame in
            let line = frame.sourceLine.map { ":\($0)" } ?? ""
            let source = frame.sourceFile?.split(separator: "/").last.map { " (\($0)\(line))" } ?? ""
            return (frame.symbol ?? "???").singleLine(limit: 128) + source.singleLine(limit: 128)
        }
        let more = calls.count > holderFrames ? " < ..." : ""
        return "\(label): Thread \(index) (\(thread.name.singleLine(limit: 32))): " + words.joined(separator: " < ")
            + more
    }
}
