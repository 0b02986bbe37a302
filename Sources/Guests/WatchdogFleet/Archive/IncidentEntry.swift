// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogReport

/// The short fields of a journal entry that announces a report, as the organizer counts it.
struct IncidentEntry {
    private enum Field: Int, CaseIterable {
        case incident, signature, app, host, kind, event, verdict, user, executable, machine
        // What not every entry has; watchdogd writes them before the incident.
        case version, build, visibility, repeats, name

        var key: String {
            switch self {
            case .incident: ReportEntryField.incident
            case .signature: ReportEntryField.signature
            case .app: ReportEntryField.app
            case .version: ReportEntryField.version
            case .build: ReportEntryField.build
            case .host: "_HOSTNAME"
            case .kind: ReportEntryField.kind
            case .event: ReportEntryField.event
            case .visibility: ReportEntryField.visibility
            case .verdict: ReportEntryField.verdictKind
            case .repeats: ReportEntryField.repeats
            case .user: "_UID"
            case .executable: "_EXE"
            case .name: "_COMM"
            case .machine: "_MACHINE_ID"
            }
        }
    }

    /// The names of the fields, in the order of the values.
    static let fields = JournalFieldNames(
        required: Field.allCases.prefix { $0 != .version }.map(\.key),
        optional: Field.allCases.drop { $0 != .version }.map(\.key))

    /// The time of the entry.
    let time: WallTime
    /// The user of an admitted sender.
    private(set) var user: UInt32 = 0
    private let texts: [String?]

    /// - Parameter texts: the values of ``fields``.
    init(_ time: WallTime, _ texts: [String?]) {
        self.time = time
        self.texts = texts
    }

    private subscript(field: Field) -> String? { texts[field.rawValue] }

    var incident: String? { self[.incident] }
    var signature: String? { self[.signature] }
    var app: String { self[.app] ?? "" }
    var host: String? { self[.host] }
    /// Whether another report counts this incident.
    var isRepeat: Bool { self[.repeats] != nil }
    var sender: JournalSender {
        JournalSender(
            user: self[.user].flatMap { UInt32($0) }, executable: self[.executable], name: self[.name],
            machine: self[.machine])
    }

    /// The watched event, in the terms of reports.
    static func event(_ event: String?, ofKind kind: String?) -> String {
        switch kind {
        case "crashed": ReportKind.crash.rawValue
        case "hangReported": ReportKind.hang.rawValue
        default: event ?? ""
        }
    }

    /// The entry with the user of its sender.
    func sent(by user: UInt32) -> IncidentEntry {
        var entry = self
        entry.user = user
        return entry
    }

    /// The incident, as far as the fields tell: without the app's calls, and with the kind of the verdict as its cause.
    var summary: OrganizerIncident {
        let versions = [self[.version], self[.build]].compactMap(\.self)
        return OrganizerIncident(
            time: time.seconds, host: host ?? "", app: app, version: versions.first { !$0.isEmpty } ?? "",
            event: Self.event(self[.event], ofKind: self[.kind]), role: .init(word: self[.visibility] ?? ""),
            cause: self[.verdict] ?? "", signature: signature ?? "", incident: incident ?? "")
    }
}
