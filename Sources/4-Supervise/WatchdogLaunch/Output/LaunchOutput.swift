// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogLinux
import WatchdogPolicy

extension LaunchConfiguration {
    /// Sets the program's standard streams.
    package mutating func connect(_ streams: StandardStreams) {
        self.streams = streams
        // The inherited JOURNAL_STREAM describes watchdogd's own stream.
        environment["JOURNAL_STREAM"] = streams.journalStream
    }
}

/// Where the output of one launch can be read.
///
/// Isolation: the loop's thread.
package final class LaunchOutput {
    /// Nil if it cannot be read.
    package private(set) var source: LogSource?

    /// Starts when the program is running.
    ///
    /// - Parameters:
    ///   - log: where its output goes.
    ///   - process: the main process.
    ///   - launchedAt: when it was launched.
    ///   - isInCgroup: whether it has its own cgroup; otherwise it shares watchdogd's with others.
    package func begin(_ log: StandardStreams.Log?, of process: Int32, launchedAt: Instant, isInCgroup: Bool) {
        source =
            switch log {
            case .file(let file): .file(file)
            case .journal:
                .journal(
                    JournalMatch(
                        cgroup: isInCgroup ? ProcessFacts.cgroup(process) : nil, processes: [process],
                        since: launchedAt))
            case nil: nil
            }
    }

    /// Finds the output of a process that the previous watchdogd launched; the answer comes later.
    ///
    /// Only the journal counts, because it returns nothing but what the app printed: the process could claim any file
    /// as its own.
    package func find(
        of process: ExaminedProcess, _ tenant: Tenant, by examiner: Examiner?, launchedAt: Instant, isInCgroup: Bool
    ) {
        guard let examiner else { return }
        examiner.ask(.journalStream(of: process), of: tenant) { [weak self] isJournal in
            self?.begin(
                isJournal == true ? .journal : nil, of: process.id, launchedAt: launchedAt, isInCgroup: isInCgroup)
        }
    }
}
