// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogRendering
import WatchdogVerdict

@testable import WatchdogFleet
@testable import WatchdogReport

/// Whatever stands in journal entries that imitate watchdogd's or systemd-coredump's: it is left out, or listed and read with
/// text that is safe for a terminal.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJournal(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if bytes.first == UInt8(ascii: "P") {
        checkMessage(String(decoding: bytes, as: UTF8.self))
        return 0
    }
    let entries = Entries(bytes.split(separator: 0x1e).prefix(4))
    for filter in [ReportFilter(), ReportFilter(app: "web", event: "scene-update", verdict: "blocked")] {
        let reports = JournalReports(entries, user: 1_000, machine: "m1", includesAllUsers: filter.app == nil)
        var seen = 0
        var found: [StoredReport] = []
        reports.scan(filter, host: nil, incident: "") { announcement in
            seen += 1
            let stored = reports.confirmed(reports.stored(announcement))
            precondition(stored.isInStore == false && stored.entry != nil)
            found.append(stored)
            if let report = try? reports.salvageCurrent(stored).report { checkReport(report) }
            return true
        }
        precondition(seen + reports.imitations + reports.otherUsers <= entries.count)
        for stored in found { _ = try? reports.salvage(stored) }
        let list = ReportListing.text(found, showsHosts: true, showsUsers: true)
        for line in list.split(separator: "\n") { precondition(String(line).singleLine() == line) }
    }
    return 0
}

private func checkReport(_ report: Report) {
    let text = TextRenderer.render(report)
    precondition(
        text.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || $0.properties.generalCategory != .control })
}

/// What systemd-coredump says about a core.
private func checkMessage(_ message: String) {
    guard let (capture, thread) = CoredumpMessage.read(message, process: 42) else { return }
    precondition(capture.threads.contains { $0.id == thread })
    precondition(Set(capture.threads.map(\.id)).count == capture.threads.count)
    precondition(capture.threads.count <= ReportLimits.threads && capture.images.count <= ReportLimits.images)
    for frame in capture.threads.flatMap(\.frames) {
        precondition(capture.images.indices.contains(frame.imageIndex) && frame.imageOffset <= frame.address)
    }
}

/// Entries with a field in each line `NAME=value`, and a report after an empty line; the newest come first.
private final class Entries: JournalEntries {
    private let entries: [[String: [UInt8]]]
    private var position = -1

    init(_ parts: some Sequence<ArraySlice<UInt8>>) {
        entries = parts.map { part in
            var fields = ["MESSAGE_ID": Array((ReportEntryField.messageIDs["killed"] ?? "").utf8)]
            var rest = part
            while let end = rest.firstIndex(of: 0x0a), end > rest.startIndex {
                let line = rest[..<end].split(separator: UInt8(ascii: "="), maxSplits: 1)
                if line.count == 2 { fields[String(decoding: line[0], as: UTF8.self)] = Array(line[1]) }
                rest = rest[(end + 1)...]
            }
            if rest.first == 0x0a { fields[ReportEntryField.data] = Array(rest.dropFirst()) }
            return fields
        }
    }

    var count: Int { entries.count }
    var isDamaged: Bool { false }
    var time: WallTime { WallTime(seconds: 1_700_000_000 - Int64(position)) }
    var cursor: String { "\(position)" }

    func begin(matching name: String, _ values: some Sequence<String>) { position = -1 }

    func previous() -> Bool {
        position += 1
        return position < entries.count
    }

    func seek(_ cursor: String) -> Bool {
        guard let number = Int(cursor), entries.indices.contains(number) else { return false }
        position = number
        return true
    }

    func value(_ name: String, limit: Int) -> JournalValue {
        entries[position][name].map { .bytes(Array($0.prefix(limit))) } ?? .absent
    }

    func texts(_ names: JournalFieldNames, limit: Int) -> [String?] {
        names.texts.map { value($0, limit: limit).text }
    }
}
