// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

extension Report {
    /// Updates the report's descriptions of its frames, and notes that the names were added later.
    mutating func noteNames(_ outcome: ReportNaming.Outcome, before: Report) {
        renewVerdict(before: before)
        let added = outcome.named + outcome.located
        let words =
            "\(added.counted("frame")) got names or lines later, from debug data with the same build-ids"
        let old = before.scanNote
        let new = scanNote
        func current(_ notes: [String]) -> [String] { notes.compactMap { $0 == old ? new : $0 } }
        let notes = current(body.linux?.notes ?? []) + [words]
        body.linux?.notes = notes
        guard let lines = body.applicationSpecificInformation?["watchdogd"] else { return }
        let body = self.body
        let renewed: [String] =
            lines.compactMap { line in
                if line == old.map({ "Note: \($0)" }) { return new.map { "Note: \($0)" } }
                guard let (label, thread) = Self.thread(ofStackLine: line), body.threads.indices.contains(thread)
                else {
                    return line
                }
                return Insight.stackLine(label, thread, CapturedThread(body, thread))?.singleLine(
                    limit: ReportLimits.lineLength)
                    ?? line
            } + ["Note: \(words)"]
        self.body.applicationSpecificInformation?["watchdogd"] = renewed
    }

    /// Rewrites the place of a crash with the new names, if the current verdict was derived from the old ones.
    private mutating func renewVerdict(before: Report) {
        guard let old = before.body.linux?.verdict, old == before.body.crashVerdict, let new = body.crashVerdict else {
            return
        }
        body.linux?.verdict = new
        metadata.linux?.verdict = new.brief
        guard body.applicationSpecificInformation?["watchdogd"]?.first == old.line else { return }
        body.applicationSpecificInformation?["watchdogd"]?[0] = new.line
    }

    /// The note about frames of the faulting thread that were found by scanning.
    private var scanNote: String? {
        guard let threads = body.linux?.threads, threads.indices.contains(body.faultingThread) else { return nil }
        return StackInfo.scanNote(threads[body.faultingThread].trust, thread: body.faultingThread)
    }

    /// The thread number in a line such as `Holder: Thread 1 (indexer): ...`.
    private static func thread(ofStackLine line: String) -> (label: String, thread: Int)? {
        for label in [Insight.holder, Insight.other] where line.hasPrefix("\(label): Thread ") {
            return Int(line.dropFirst("\(label): Thread ".count).prefix { $0.isASCIIDigit }).map { (label, $0) }
        }
        return nil
    }
}

extension CapturedThread {
    /// Creates a thread from a report, with the fields that its description needs.
    fileprivate init(_ body: ReportBody, _ index: Int) {
        let thread = body.threads[index]
        let details = body.linux?.threads
        let trust = details.map { $0.indices.contains(index) ? $0[index].trust : [] } ?? []
        self.init(id: thread.id ?? 0, name: thread.name ?? "", state: "?")
        frames = thread.frames.enumerated().map { number, frame in
            Frame(
                address: 0, imageIndex: frame.imageIndex, imageOffset: frame.imageOffset, symbol: frame.symbol,
                symbolLocation: frame.symbolLocation, sourceFile: frame.sourceFile, sourceLine: frame.sourceLine,
                isInlined: frame.inline ?? false, language: frame.language.flatMap(Frame.Language.init),
                trust: trust.indices.contains(number) ? trust[number] : .cfi)
        }
    }
}
