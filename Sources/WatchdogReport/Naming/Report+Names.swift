// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// Brings what a report says of its frames in words up to date, and says that names came later.
    mutating func noteNames(_ outcome: ReportNaming.Outcome, before: Report) {
        renewVerdict(before: before)
        let added = outcome.named + outcome.located
        let words =
            "\(added) frame\(added == 1 ? "" : "s") got names or lines later, from debug data with the same build-ids"
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
                guard let thread = Self.thread(ofHolderLine: line), body.threads.indices.contains(thread) else {
                    return line
                }
                return Insight.holderLine(thread, CapturedThread(body, thread))?.singleLine(
                    limit: ReportLimits.lineLength)
                    ?? line
            } + ["Note: \(words)"]
        self.body.applicationSpecificInformation?["watchdogd"] = renewed
    }

    /// Says where a process crashed in the new names, where the old ones gave the verdict that it has.
    private mutating func renewVerdict(before: Report) {
        guard let old = before.body.linux?.verdict, old == before.body.crashVerdict, let new = body.crashVerdict else {
            return
        }
        body.linux?.verdict = new
        metadata.linux?.verdict = new.brief
        guard body.applicationSpecificInformation?["watchdogd"]?.first == old.line else { return }
        body.applicationSpecificInformation?["watchdogd"]?[0] = new.line
    }

    /// What the notes say of frames of the faulting thread that were found by scanning.
    private var scanNote: String? {
        guard let threads = body.linux?.threads, threads.indices.contains(body.faultingThread) else { return nil }
        return StackInfo.scanNote(threads[body.faultingThread].trust, thread: body.faultingThread)
    }

    /// `Holder: Thread 1 (indexer): ...` is about thread 1.
    private static func thread(ofHolderLine line: String) -> Int? {
        guard line.hasPrefix("Holder: Thread ") else { return nil }
        return Int(line.dropFirst("Holder: Thread ".count).prefix { $0.isASCIIDigit })
    }
}

extension CapturedThread {
    /// A thread of a report with what words about it need.
    fileprivate init(_ body: ReportBody, _ index: Int) {
        let thread = body.threads[index]
        let details = body.linux?.threads
        let trust = details.map { $0.indices.contains(index) ? $0[index].trust : [] } ?? []
        self.init(id: thread.id ?? 0, name: thread.name ?? "", state: "?")
        frames = thread.frames.enumerated().map { number, frame in
            Frame(
                address: 0, imageIndex: frame.imageIndex, imageOffset: frame.imageOffset, symbol: frame.symbol,
                symbolLocation: frame.symbolLocation, sourceFile: frame.sourceFile, sourceLine: frame.sourceLine,
                isInlined: frame.inline ?? false, trust: trust.indices.contains(number) ? trust[number] : .cfi)
        }
    }
}
