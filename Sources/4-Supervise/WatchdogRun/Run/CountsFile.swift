// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import WatchdogBase
import WatchdogDaemon
import WatchdogLaunch
import WatchdogLinux
import WatchdogMetrics

/// Keeps the counts of a run in a file, from which the next run of the program continues: in a container, its restart.
///
/// Isolation: the loop's thread. The file is written beside it, because a disk may not answer.
final class CountsFile {
    /// The largest file that is read; a whole one has some 8 KiB.
    static let limit = 64 << 10
    /// How long the end of the run waits for the disk.
    private static let patience = DispatchTimeInterval.seconds(1)

    private let meter: RunMeter
    private let path: String
    // One at a time: the last counts are written last.
    private let queue = DispatchQueue(label: "org.watchdogd.counts-file", qos: .utility)
    private var timer: Timer?
    private var isWriting = false
    private var note = MetricsFile.ProblemNote(what: "counts")

    /// Writes the file for the first time soon.
    init(_ path: String, of meter: RunMeter) throws(LinuxError) {
        self.path = path
        self.meter = meter
        timer = try meter.host.loop.timer(priority: .last) { [unowned self] _ in writeAgain() }
        timer?.arm(at: meter.host.loop.now)
    }

    /// The counts in a file; nil if there is none.
    ///
    /// A file that cannot be used is reported, and counts start from 0: a program must not stay down because of its
    /// metrics. Called before the loop turns.
    static func contents(_ path: String, of app: String) -> KeptCounts? {
        let bytes: [UInt8]
        do throws(LinuxError) {
            bytes = try OwnedDescriptor.regularFile(at: ByteString(path)).contents(limit: limit + 1)
        } catch {
            if error.errno != .noSuchFile { complain(path, "\(error)") }
            return nil
        }
        guard !bytes.isEmpty, bytes.count <= limit,
            let kept = try? JSONDecoder().decode(KeptCounts.self, from: Data(bytes))
        else {
            complain(path, "it is not a file of counts")
            return nil
        }
        guard kept.app == app else {
            complain(path, "it has those of \(kept.app.singleLine(limit: 64)); give each app a file of its own")
            return nil
        }
        return kept
    }

    private static func complain(_ path: String, _ reason: String) {
        StandardError.mention("counts start from 0: --keep-counts \(path): \(reason)")
    }

    private func writeAgain() {
        timer?.arm(at: meter.host.loop.now + MetricsFile.interval)
        guard !isWriting else { return tell("the disk of \(path) does not answer") }
        isWriting = true
        meter.disks.read(on: queue) { [path, kept = meter.kept] in
            Result { () throws(LinuxError) in try Self.write(kept, to: path) }
        } then: { [weak self] (result: Result<Void, LinuxError>) in
            self?.isWriting = false
            switch result {
            case .success: self?.tell(nil)
            case .failure(let error): self?.tell("\(error)")
            }
        }
    }

    /// Writes the last counts; called when the loop has ended.
    func finish() {
        let isDone = DispatchSemaphore(value: 0)
        queue.async { [path, kept = meter.kept] in
            do throws(LinuxError) {
                try Self.write(kept, to: path)
            } catch {
                StandardError.mention("cannot write counts: \(error)")
            }
            isDone.signal()
        }
        if isDone.wait(timeout: .now() + Self.patience) == .timedOut {
            StandardError.mention("cannot write counts: the disk of \(path) does not answer")
        }
    }

    private static func write(_ kept: KeptCounts, to path: String) throws(LinuxError) {
        guard let data = try? JSONEncoder().encode(kept) else { return }
        try AtomicFile.write([UInt8](data), to: path)
    }

    private func tell(_ problem: String?) {
        if let sentence = note.sentence(for: problem, path) { meter.say(sentence) }
    }
}
