// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogControl
import WatchdogHistory
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogVerdict

/// Reports to the operator, the journal, and the clients that monitor through the control socket.
///
/// Isolation: the loop's thread.
final class Announcer {
    /// How much may be written.
    private struct Room {
        var lines = TokenBucket(capacity: 200, perSecond: 50)
        /// The journal has more, and needs it: a thousand apps may be launched at once.
        var entries = TokenBucket(capacity: 4_000, perSecond: 200)
    }

    /// Passes events on to clients that monitor; nil until the control socket is served.
    var control: ControlServer?

    private let verbosity: Verbosity
    private let loop: EventLoop
    private let log: EventLog
    private var room = Room()
    /// Apps that fail without a pause leave no room for others, but a watchdog's incident must not go untold.
    private var incidentRoom = Room()
    /// What is dropped is counted for a second: told after each turn of the loop, the counts would be a flood themselves.
    private var countLimiter = TokenBucket(capacity: 1, perSecond: 1)
    private var unsaid = 0
    /// Lines that standard error has not accepted since the start.
    private(set) var droppedLines = 0
    /// Entries that the journal has not accepted since the start.
    var droppedEntries: Int { log.droppedCount }

    init(on loop: EventLoop, _ log: EventLog, verbosity: Verbosity) {
        self.loop = loop
        self.log = log
        self.verbosity = verbosity
    }

    /// A line for the operator.
    func say(_ line: String, as level: LogLevel = .info) { tell(line, nil, level) }

    /// A line for the operator, and an entry for the journal.
    ///
    /// - Parameter level: of a line without an entry.
    func tell(_ line: String?, _ entry: @autoclosure () -> JournalEntry?, _ level: LogLevel = .info) {
        tell(line, entry(), level, &room)
    }

    private func tell(
        _ line: String?, _ entry: @autoclosure () -> JournalEntry?, _ level: LogLevel, _ room: inout Room
    ) {
        let now = loop.now
        if log.hasJournal, room.entries.admit(at: now), log.record(entry()) { return }
        guard let line else { return }
        let shown = StandardError.showsLevels ? entry() : nil
        guard room.lines.admit(at: now), say(line, shown, level) else {
            unsaid += 1
            droppedLines += 1
            return
        }
        guard unsaid > 0, countLimiter.admit(at: now) else { return }
        let text = "messages dropped because there were too many or nothing read them: \(unsaid)"
        if log.tell(JournalEntry(.messagesDropped, text), line: text) { unsaid = 0 }
    }

    private func say(_ line: String, _ entry: JournalEntry?, _ level: LogLevel) -> Bool {
        guard let entry else { return StandardError.mention(line, as: level) }
        return StandardError.say(line, entry, within: .zero)
    }

    /// A line for an operator who wants to read everything.
    func sayIfVerbose(_ line: @autoclosure () -> String) {
        if verbosity == .verbose { say(line()) }
    }

    /// Reports a message of the launch history.
    func publish(_ news: HistoryWriter.News) {
        switch news {
        case .problem(let sentence): say(sentence)
        case .regression(let regression): publish(.launchRegressed, of: regression.app, regression.text)
        }
    }

    /// Reports that the configuration was read again.
    func publish(_ reply: ReloadReply) {
        let what = "added \(reply.added.count), changed \(reply.changed.count), removed \(reply.removed.count)"
        // The apps are asked to exit before this is reported: it says why.
        let names = (reply.restarted ?? []).prefix(5).map { $0.singleLine() }.joined(separator: ", ")
        let more = (reply.restarted?.count ?? 0) > 5 ? ", \u{2026}" : ""
        let restarts = names.isEmpty ? "" : "; restarting \(names)\(more)"
        control?.publish(ControlEvent(.reloaded, message: "configuration read: \(what)\(restarts)", time: .now()))
        let line = "configuration read: \(what), unchanged \(reply.unchanged)\(restarts)"
        tell(verbosity == .quiet ? nil : line, JournalEntry(.reloaded, line))
    }

    // MARK: - Events of apps

    /// Reports a notice.
    func publish(_ notice: Notice, of app: String, _ subject: EventSubject) {
        let narration = Narration(name: app, verbosity: .verbose)
        // An incident is reported when its report is written; only clients that monitor get it now.
        if case .transgressed(let incident) = notice {
            tell(.exhausted, of: app, narration.announcement(of: incident), pid: subject.pid)
            return
        }
        guard let line = narration.line(for: notice) else { return }
        tell(ControlEvent.Kind(notice), of: app, narration.withoutName(line), pid: subject.pid)
        tell(
            Narration(name: app, verbosity: verbosity).line(for: notice),
            JournalEntry(notice, about: subject))
    }

    /// Whether the operator reads of it.
    private func isTold(_ event: some ReportedEvent) -> Bool { event.isToldWhenQuiet || verbosity != .quiet }

    /// - Parameter carriesReport: whether the journal gets the report itself.
    func publish(
        _ event: some ReportedEvent, _ report: ReportOutcome, of app: String, _ subject: EventSubject,
        carriesReport: Bool
    ) {
        let narration = Narration(name: app, verbosity: verbosity)
        tell(.reported, of: app, event.announcement(of: report), pid: subject.pid, report: report.path)
        let lines = isTold(event) ? narration.lines(of: event, pid: subject.pid, report) : nil
        var entry: JournalEntry { JournalEntry(event, report, about: subject, carriesReport: carriesReport) }
        if event is Incident { tell(lines, entry, .info, &incidentRoom) } else { tell(lines, entry) }
    }

    func publish(
        _ kind: ControlEvent.Kind, of app: String, _ message: String, _ subject: EventSubject? = nil,
        status: ExitStatus? = nil, isDetail: Bool = false
    ) {
        tell(kind, of: app, message, pid: subject?.pid)
        let line = "\(app) \(message)"
        tell(
            verbosity == .quiet || (isDetail && verbosity == .normal) ? nil : line,
            EventKind(rawValue: kind.rawValue).map {
                var entry = JournalEntry($0, line, about: subject ?? EventSubject(app: app))
                if let status { entry.add(status) }
                return entry
            })
    }

    private func tell(
        _ kind: ControlEvent.Kind, of app: String, _ message: String, pid: Int32?, report: String? = nil
    ) {
        control?.publish(
            ControlEvent(kind, app: app, message: message, time: .now(), pid: pid, report: report))
    }
}
