// SPDX-License-Identifier: Apache-2.0

package import WatchdogLinux
import WatchdogReport

/// Writes events to standard error, to the journal, or to both, without repeating any for the same reader.
///
/// Isolation: any thread; no call waits unless it is given a limit.
package final class EventLog: Sendable {
    /// Writes lines to standard error only.
    package static let standardError = EventLog(toJournal: false)

    /// The most entries that wait for the journal.
    private static let entryLimit = 1_024

    private let journal: JournalThread?
    /// False if standard error leads to the journal, which already has the entries.
    private let speaks: Bool
    /// Where an orchestrator runs watchdogd; in each entry.
    private let workload = WorkloadDetails.current

    /// Connects to the journal if entries are wanted and there is one.
    ///
    /// - Parameters:
    ///   - toJournal: whether to send entries to the journal; without a journal there are only lines.
    ///   - address: where journald listens.
    ///   - isErrorJournal: whether standard error leads to the journal.
    package init(
        toJournal: Bool, address: JournalAddress = .system,
        isErrorJournal: Bool = JournalStream.isConnected(2)
    ) {
        journal =
            toJournal && address.isPresent
            ? try? JournalThread(address, capacity: Self.entryLimit) { count in
                JournalEntry(.messagesDropped, "messages dropped because the journal did not accept them: \(count)")
            } : nil
        speaks = journal == nil || !isErrorJournal
    }

    /// For a run in the foreground: uses the journal if systemd started watchdogd or its output leads there.
    package static func forRun() -> EventLog {
        EventLog(toJournal: ServiceManager.isParent || JournalStream.isConnected(1) || JournalStream.isConnected(2))
    }

    /// Whether entries reach a journal.
    package var hasJournal: Bool { journal != nil }

    /// Entries that the journal did not take.
    package var droppedCount: Int { journal?.droppedCount ?? 0 }

    /// Reports an event.
    ///
    /// Without an entry, the line is written even if standard error leads to the journal.
    ///
    /// - Parameters:
    ///   - entry: for the journal; created only if there is one.
    ///   - line: for standard error; nil if it is not worth a line.
    ///   - patience: how long to wait for a reader of standard error who has fallen behind.
    /// - Returns: false if the line was lost. The journal thread reports entries that it lost.
    @discardableResult
    package func tell(
        _ entry: @autoclosure () -> JournalEntry?, line: String?, within patience: Duration = .zero
    ) -> Bool {
        let entry = hasJournal || StandardError.showsLevels ? entry() : nil
        let isSaid = hasJournal && record(entry)
        guard let line, !isSaid else { return true }
        return StandardError.say(line, entry, within: patience)
    }

    /// Sends an entry to the journal only.
    ///
    /// - Returns: true if no line is needed, because standard error leads to the journal too.
    package func record(_ entry: JournalEntry?) -> Bool {
        guard let journal, var entry else { return false }
        for (name, value) in workload?.pairs ?? [] { entry.add("WATCHDOGD_\(name)", value) }
        journal.post(entry)
        return !speaks
    }

    /// Waits until the journal has everything, for at most a second.
    package func finish() {
        journal?.shutDown(within: .seconds(1))
    }
}
