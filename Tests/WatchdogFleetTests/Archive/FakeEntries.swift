// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import WatchdogBase
import WatchdogLinux
import WatchdogReport

@testable import WatchdogFleet

/// Entries of a journal that exists only in memory, oldest first.
final class FakeEntries: JournalEntries {
    struct Entry {
        var seconds: Int64
        var fields: [String: [UInt8]]

        subscript(name: String) -> String? {
            get { fields[name].map { String(decoding: $0, as: UTF8.self) } }
            set { fields[name] = newValue.map { Array($0.utf8) } }
        }
    }

    static let killed = "625be8b805824436a7005458c4889c7e"

    private let entries: [Entry]
    private var selection: (name: String, values: Set<String>)?
    private var position = 0
    /// The most bytes requested from one field.
    private(set) var largestRead = 0
    /// The number of whole reports that were read.
    private(set) var reportReads = 0
    /// The number of entries read.
    private(set) var steps = 0

    init(_ entries: [Entry]) {
        self.entries = entries.sorted { $0.seconds < $1.seconds }
        position = entries.count
    }

    /// The entry of a report, as root's watchdogd would send it.
    static func entry(
        _ number: Int, at seconds: Int64, host: String = "alpha", report: Report? = nil
    ) throws -> Entry {
        var facts = Samples.facts(number: number)
        facts.captureTime = WallTime(seconds: seconds)
        let report = report ?? Report(of: facts, on: Samples.host, capture: nil)
        var entry = Entry(seconds: seconds, fields: [:])
        entry["MESSAGE_ID"] = killed
        entry["_UID"] = "0"
        entry["_EXE"] = "/usr/bin/watchdogd"
        entry["_COMM"] = "watchdogd"
        entry["_HOSTNAME"] = host
        entry["_MACHINE_ID"] = host
        entry["WATCHDOGD_KIND"] = "killed"
        entry["WATCHDOGD_APP"] = report.metadata.appName
        entry["WATCHDOGD_APP_VERSION"] = "1.4"
        entry["WATCHDOGD_PID"] = "42"
        entry["WATCHDOGD_EVENT"] = "scene-update"
        entry["WATCHDOGD_VERDICT"] = "Main thread blocked 9.96 s in recvfrom"
        entry["WATCHDOGD_VERDICT_KIND"] = "blocked"
        entry["WATCHDOGD_INCIDENT"] = report.metadata.incidentID
        entry["WATCHDOGD_SIGNATURE"] = "0000000\(number % 2)"
        entry["WATCHDOGD_REPORT"] = "/var/log/watchdogd/reports/HangMain-\(number).ips"
        entry.fields["WATCHDOGD_REPORT_DATA"] = try ReportCoding.encode(report)
        return entry
    }

    func begin(matching name: String, _ values: some Sequence<String>) {
        selection = (name, Set(values))
        position = entries.count
    }

    func previous() -> Bool {
        while position > 0 {
            position -= 1
            steps += 1
            guard let selection else { return true }
            if let value = entries[position][selection.name], selection.values.contains(value) { return true }
        }
        return false
    }

    var isDamaged = false

    func seek(_ cursor: String) -> Bool {
        guard let index = Int(cursor), entries.indices.contains(index) else { return false }
        position = index
        return true
    }

    var time: WallTime { WallTime(seconds: entries[position].seconds) }
    var cursor: String { "\(position)" }

    func value(_ name: String, limit: Int) -> JournalValue {
        guard let bytes = entries[position].fields[name] else { return .absent }
        if bytes == Array("UNREADABLE".utf8) { return .unreadable(.invalidArgument) }
        largestRead = max(largestRead, min(limit, bytes.count))
        if name == ReportEntryField.data, limit > ReportEntryField.dataLimit { reportReads += 1 }
        return .bytes(Array(bytes.prefix(limit)))
    }

    func texts(_ names: JournalFieldNames, limit: Int) -> [String?] {
        names.texts.map { value($0, limit: limit).text }
    }
}
