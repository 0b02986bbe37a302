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
/// Isolation: the loop's thread.
final class CountsFile {
    /// The largest file that is read; a whole one has some 8 KiB.
    static let limit = 64 << 10
    /// How long the end of the run waits for the disk.
    private static let patience = DispatchTimeInterval.seconds(1)

    private let file: PeriodicFile

    /// Writes the file for the first time soon.
    init(_ path: String, of meter: RunMeter) throws(LinuxError) {
        file = try PeriodicFile(path, of: meter, "counts") { write in
            write { [kept = meter.kept] in (try? JSONEncoder().encode(kept)).map { [UInt8]($0) } }
        }
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

    /// Writes the last counts; called when the loop has ended.
    func finish() { file.finish(within: Self.patience) }
}
