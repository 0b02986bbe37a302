// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// Where watchdogd says what happens: to people on standard error, to the journal, or both, but to nobody twice.
///
/// Isolation: may be used from any thread; no call waits unless it is told to.
final class EventLog: Sendable {
    /// Lines on standard error only.
    static let standardError = EventLog(toJournal: false)

    private let journal: JournalThread?
    /// False when standard error leads to the journal, which has the entries.
    private let speaks: Bool

    /// - Parameters:
    ///   - toJournal: whether entries are wanted in the journal; without a journal there are lines only.
    ///   - address: where journald listens.
    ///   - isErrorJournal: whether standard error leads to the journal.
    init(
        toJournal: Bool, address: JournalAddress = .system,
        isErrorJournal: Bool = JournalStream.isConnected(2)
    ) {
        journal =
            toJournal && address.isPresent
            ? try? JournalThread(address, capacity: 1_024) { count in
                JournalEntry(.messagesDropped, "messages dropped, because the journal did not take them: \(count)")
            } : nil
        speaks = journal == nil || !isErrorJournal
    }

    /// For a run in the foreground: in the journal when systemd has started it, or its output leads there.
    static func forRun() -> EventLog {
        EventLog(toJournal: ServiceManager.isParent || JournalStream.isConnected(1) || JournalStream.isConnected(2))
    }

    /// Whether entries reach a journal.
    var hasJournal: Bool { journal != nil }

    /// Tells of an event.
    ///
    /// Without an entry, the line is said even where standard error leads to the journal.
    ///
    /// - Parameters:
    ///   - entry: for the journal; made only if there is one.
    ///   - line: for standard error; nil when it is not worth one there.
    ///   - patience: how long to wait for somebody who does not read standard error.
    /// - Returns: false when the line was lost. Losses of the journal are told by the journal.
    @discardableResult
    func tell(_ entry: @autoclosure () -> JournalEntry?, line: String?, within patience: Duration = .zero) -> Bool {
        let isSaid = hasJournal && record(entry())
        guard let line, !isSaid else { return true }
        return StandardError.say(line, within: patience)
    }

    /// Tells the journal only.
    ///
    /// - Returns: true when that is enough, because standard error leads there too.
    func record(_ entry: JournalEntry?) -> Bool {
        guard let journal, let entry else { return false }
        journal.post(entry)
        return !speaks
    }

    /// Waits until the journal has everything, for a second at the most.
    func finish() {
        journal?.shutDown(within: .seconds(1))
    }
}
