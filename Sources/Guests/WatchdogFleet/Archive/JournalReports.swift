// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogBase
package import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore

/// Reads the reports in journal entries.
///
/// A scan reads only short fields of each entry; reports are decompressed one at a time.
///
/// Isolation: one thread at a time.
final class JournalReports {
    /// An entry that announces a report; the other fields are read on demand, while the entry is the current one.
    struct Announcement {
        let incident: String
        let time: WallTime
        let sender: UInt32
    }

    /// The maximum number of bytes to read of a short field.
    private static let fieldBytes = 4_096
    /// The number of bytes to read of a report for its first line.
    private static let firstLineBytes = 64 << 10

    /// The number of reports in entries of other programs.
    private(set) var imitations = 0
    /// The number of reports of other users.
    private(set) var otherUsers = 0
    /// Whether a damaged file made entries unreadable.
    var isDamaged: Bool { entries.isDamaged }
    private let entries: any JournalEntries
    private let user: UInt32
    private let machine: String?
    private let includesAllUsers: Bool

    /// - Parameters:
    ///   - user: the reading user.
    ///   - machine: the ID of the reading machine.
    init(_ entries: any JournalEntries, user: UInt32, machine: String?, includesAllUsers: Bool) {
        self.entries = entries
        self.user = user
        self.machine = machine
        self.includesAllUsers = includesAllUsers
    }

    // MARK: - Finding

    /// Visits the announcements that pass a filter, newest first, until `visit` returns false.
    ///
    /// - Parameters:
    ///   - host: the only host that counts; nil for all.
    ///   - prefix: the prefix of the incidents' IDs, in capitals.
    func scan(_ filter: ReportFilter, host: String?, incident prefix: String = "", _ visit: (Announcement) -> Bool) {
        imitations = 0
        otherUsers = 0
        entries.begin(matching: "MESSAGE_ID", ReportEntryField.messageIDs.values.sorted())
        while entries.previous() {
            let time = entries.time
            if let since = filter.since, time.since(since) < .zero { return }
            guard let incident = text(ReportEntryField.incident), incident.uppercased().hasPrefix(prefix),
                let sender = admittedSender()
            else { continue }
            if let host, text("_HOSTNAME")?.lowercased() != host.lowercased() { continue }
            if let app = filter.app, !Wildcard.selects(text(ReportEntryField.app) ?? "", by: app) { continue }
            guard filter.event == nil || filter.admits(event: event) else { continue }
            if let verdict = filter.verdict?.lowercased(), !passes(verdict: verdict) { continue }
            guard visit(Announcement(incident: incident, time: time, sender: sender)) else { return }
        }
    }

    /// Visits the incidents in entries that pass a filter by app and time, newest first, by their short fields.
    func scanIncidents(_ filter: ReportFilter, host: String?, _ visit: (IncidentEntry) -> Void) {
        imitations = 0
        otherUsers = 0
        let host = host?.lowercased()
        entries.begin(matching: "MESSAGE_ID", ReportEntryField.messageIDs.values.sorted())
        while entries.previous() {
            let time = entries.time
            if let since = filter.since, time.since(since) < .zero { return }
            let entry = IncidentEntry(time, entries.texts(IncidentEntry.fields, limit: Self.fieldBytes))
            guard entry.incident != nil, let sender = admitted(entry.sender) else { continue }
            if let host, entry.host?.lowercased() != host { continue }
            if let app = filter.app, !Wildcard.selects(entry.app, by: app) { continue }
            visit(entry.sent(by: sender))
        }
    }

    /// The user ID of the entry's sender; nil if its reports are not accepted.
    private func admittedSender() -> UInt32? {
        admitted(
            JournalSender(
                user: text("_UID").flatMap { UInt32($0) }, executable: text("_EXE"), name: text("_COMM"),
                machine: text("_MACHINE_ID")))
    }

    private func admitted(_ sender: JournalSender) -> UInt32? {
        switch sender.standing(for: user, on: machine) {
        case .trusted: return sender.user
        case .otherUser where includesAllUsers: return sender.user
        case .otherUser: otherUsers += 1
        case .imitation: imitations += 1
        }
        return nil
    }

    // MARK: - The current entry

    var signature: String? { text(ReportEntryField.signature) }

    /// Whether another report counts this incident.
    var isRepeat: Bool { text(ReportEntryField.repeats) != nil }

    /// The report's metadata from the entry's short fields.
    func stored(_ announcement: Announcement) -> StoredReport {
        let time = announcement.time
        var metadata = ReportMetadata(
            appName: text(ReportEntryField.app) ?? "", timestamp: time.text(fractionDigits: 2),
            incidentID: announcement.incident)
        metadata.appVersion = text(ReportEntryField.version)
        metadata.buildVersion = text(ReportEntryField.build)
        metadata.linux = .init(
            pid: text(ReportEntryField.pid).flatMap { Int($0) } ?? 0, event: event,
            verdict: text(ReportEntryField.verdict) ?? "")
        let host = text("_HOSTNAME")
        let path = text(ReportEntryField.path)
        let cursor = entries.cursor
        let place = "the journal entry of \(time.text(fractionDigits: 0)) on \(host ?? "an unknown host") (\(cursor))"
        return StoredReport(
            name: path?.split(separator: "/").last.map(String.init) ?? "-", path: place, size: 0, modified: time,
            metadata: metadata, fault: nil, isInStore: false, host: host,
            entry: .init(cursor: cursor, user: announcement.sender, path: path))
    }

    /// The watched event, in the terms of reports.
    private var event: String {
        IncidentEntry.event(text(ReportEntryField.event), ofKind: text(ReportEntryField.kind))
    }

    /// Whether the current entry carries a report.
    var carriesReport: Bool { entries.value(ReportEntryField.data, limit: 1) != .absent }

    /// Whether the verdict contains these words, or is of that kind.
    private func passes(verdict words: String) -> Bool {
        text(ReportEntryField.verdict)?.lowercased().contains(words) == true
            || text(ReportEntryField.verdictKind) == words
    }

    private func text(_ name: String) -> String? { entries.value(name, limit: Self.fieldBytes).text }

    /// Replaces the metadata by that in the report's first line.
    func confirmed(_ stored: StoredReport) -> StoredReport {
        var metadata = stored.metadata
        var fault: String?
        var omission: String?
        switch entries.value(ReportEntryField.data, limit: Self.firstLineBytes) {
        case .absent: omission = text(ReportEntryField.omitted) ?? "its entry was sent without it"
        case .unreadable(let errno): fault = "the journal's file is damaged there (\(errno))"
        case .bytes(let bytes):
            do throws(ReportCodingError) {
                metadata = try ReportCoding.decodeMetadata(bytes)
            } catch {
                fault = error.description
            }
        }
        return StoredReport(
            name: stored.name, path: stored.path, size: 0, modified: stored.modified,
            metadata: fault == nil ? metadata : nil, fault: fault, isInStore: false, host: stored.host,
            entry: stored.entry.map { .init(cursor: $0.cursor, user: $0.user, path: $0.path, omission: omission) })
    }

    /// Reads the report of the current entry.
    func salvageCurrent(
        _ stored: StoredReport
    ) throws(ReportStoreError) -> (report: Report, faults: [String]) {
        switch entries.value(ReportEntryField.data, limit: ReportEntryField.dataLimit + 1) {
        case .absent:
            let reason = text(ReportEntryField.omitted) ?? "it was sent without it"
            throw ReportStoreError(
                .notFound, "find a crash log in", stored.path, reason: reason,
                suggestion: stored.entry?.path.map { "look on \(stored.host ?? "that host") at \($0)" })
        case .unreadable(let errno):
            throw ReportStoreError(
                .damaged, "read", stored.path, reason: "the journal's file is damaged there (\(errno))")
        case .bytes(let bytes) where bytes.count > ReportEntryField.dataLimit:
            throw ReportStoreError(
                .damaged, "read", stored.path, reason: "more than \(ReportEntryField.dataLimit) bytes")
        case .bytes(let bytes):
            do throws(ReportCodingError) {
                return try ReportCoding.salvage(bytes)
            } catch {
                throw ReportStoreError(.damaged, "read", stored.path, reason: error.description)
            }
        }
    }

    // MARK: - Any entry

    /// Reads the report of an entry; a scan cannot be continued afterward.
    func salvage(_ stored: StoredReport) throws(ReportStoreError) -> (report: Report, faults: [String]) {
        guard let entry = stored.entry, entries.seek(entry.cursor) else {
            throw ReportStoreError(.notFound, "find", stored.path, reason: "it is no longer in the journal")
        }
        return try salvageCurrent(stored)
    }
}

/// A cursor over journal entries, newest first.
package protocol JournalEntries: AnyObject {
    /// Moves past the newest entry, and selects those in which a field has one of some values.
    func begin(matching name: String, _ values: some Sequence<String>)
    /// Moves to the next older entry; false at the end.
    func previous() -> Bool
    /// Whether a damaged file made entries unreadable.
    var isDamaged: Bool { get }
    /// Moves to an entry; false if it is no longer there.
    func seek(_ cursor: String) -> Bool
    var time: WallTime { get }
    /// The cursor, which identifies the entry.
    var cursor: String { get }
    /// The first `limit` bytes of a field of this entry.
    func value(_ name: String, limit: Int) -> JournalValue
    /// The first `limit` bytes of several fields of this entry as text, in the order of the names; nil for those it
    /// lacks. An optional field may be missed if it comes after the required ones.
    func texts(_ names: JournalFieldNames, limit: Int) -> [String?]
}

extension JournalFiles: JournalEntries {}
