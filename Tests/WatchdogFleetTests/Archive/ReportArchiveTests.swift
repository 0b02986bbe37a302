// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogRendering
import WatchdogReport

@testable import WatchdogFleet
@testable import WatchdogReportStore

@Suite("Reports in journals and folders")
struct ReportArchiveTests {
    private func archive(
        _ entries: [FakeEntries.Entry], folder: String? = nil, host: String? = nil, allUsers: Bool = false,
        user: UInt32 = 0
    ) -> ReportArchive {
        var sources = ReportArchive.Sources(folder: folder, journal: .local)
        sources.host = host
        sources.includesAllUsers = allUsers
        return ReportArchive(sources, entries: FakeEntries(entries), user: user, machine: "alpha")
    }

    private func incidents(_ list: ReportArchive.List) -> [String] {
        list.reports.compactMap { $0.metadata.map { String($0.incidentID.suffix(4)) } }
    }

    @Test("entries of several hosts come newest first, with host and version")
    func hosts() throws {
        let archive = archive([
            try FakeEntries.entry(1, at: 100, host: "alpha"), try FakeEntries.entry(2, at: 300, host: "beta"),
            try FakeEntries.entry(3, at: 200, host: "alpha"), try FakeEntries.entry(4, at: 400, host: "beta"),
        ])
        let list = try archive.list(ReportFilter(), atMost: nil)
        #expect(list.reports.map(\.host) == ["beta", "beta", "alpha", "alpha"])
        #expect(incidents(list) == ["0004", "0002", "0003", "0001"])
        #expect(!list.isCut)
        #expect(list.reports.allSatisfy { $0.metadata?.linux?.verdict == "unknown" || $0.fault == nil })
        #expect(archive.takeNotes() == [])
    }

    @Test("the newest are kept, and entries beyond the limit are not even read")
    func limit() throws {
        let entries = FakeEntries(try (1...50).map { try FakeEntries.entry($0, at: Int64($0)) })
        let archive = ReportArchive(
            ReportArchive.Sources(folder: nil, journal: .local), entries: entries, user: 0, machine: nil)
        let two = try archive.list(ReportFilter(), atMost: 2)
        #expect(incidents(two) == ["0050", "0049"])
        #expect(two.isCut)
        #expect(entries.steps == 3)
        #expect(try !archive.list(ReportFilter(), atMost: 50).isCut)
        #expect(try archive.list(ReportFilter(limit: 1), atMost: nil).reports.count == 1)
    }

    @Test("a host, an app, an event, a verdict and a time are found by the entry's fields")
    func filters() throws {
        let archive = archive([
            try FakeEntries.entry(1, at: 100, host: "alpha"), try FakeEntries.entry(2, at: 300, host: "beta"),
        ])
        func count(_ filter: ReportFilter) throws -> Int { try archive.list(filter, atMost: nil).reports.count }
        #expect(try count(ReportFilter(app: "hangmain")) == 2)
        #expect(try count(ReportFilter(app: "other")) == 0)
        #expect(try count(ReportFilter(event: "scene-update")) == 2)
        #expect(try count(ReportFilter(event: "crash")) == 0)
        #expect(try count(ReportFilter(verdict: "Recvfrom")) == 2)
        #expect(try count(ReportFilter(verdict: "blocked")) == 2)
        #expect(try count(ReportFilter(verdict: "futex")) == 0)
        #expect(try count(ReportFilter(since: WallTime(seconds: 300))) == 1)
        #expect(try count(ReportFilter(since: WallTime(seconds: 301))) == 0)
        let beta = self.archive(
            [try FakeEntries.entry(1, at: 1, host: "alpha"), try FakeEntries.entry(2, at: 2, host: "beta")],
            host: "BETA")
        #expect(try incidents(beta.list(ReportFilter(), atMost: nil)) == ["0002"])
    }

    @Test("entries of strangers are ignored and counted; those of other users are omitted unless requested")
    func strangers() throws {
        var imitation = try FakeEntries.entry(1, at: 1)
        imitation["_EXE"] = "/usr/bin/logger"
        var another = try FakeEntries.entry(2, at: 2)
        another["_UID"] = nil
        var user = try FakeEntries.entry(3, at: 3)
        user["_UID"] = "1000"
        let entries = [imitation, another, user, try FakeEntries.entry(4, at: 4)]
        let root = archive(entries)
        #expect(try incidents(root.list(ReportFilter(), atMost: nil)) == ["0004"])
        #expect(
            root.takeNotes() == [
                "2 entries imitate watchdogd's and were ignored",
                "1 entry of another user's watchdogd was left out; --all-users includes it",
            ])
        let own = archive(entries, user: 1_000)
        #expect(try incidents(own.list(ReportFilter(), atMost: nil)) == ["0004", "0003"])
        let all = archive(entries, allUsers: true)
        let list = try all.list(ReportFilter(), atMost: nil)
        #expect(list.reports.map(\.entry?.user) == [0, 1_000])
        #expect(all.takeNotes() == ["2 entries imitate watchdogd's and were ignored"])
        #expect(throws: ReportStoreError.self) { try root.find("00000000-0000-4000-8000-000000000001") }
    }

    @Test("a field that is not a report is named once, and the rest is read")
    func damaged() throws {
        var broken = try FakeEntries.entry(2, at: 2)
        broken["WATCHDOGD_REPORT_DATA"] = "\u{1b}[2J no report"
        var unreadable = try FakeEntries.entry(3, at: 3)
        unreadable["WATCHDOGD_REPORT_DATA"] = "UNREADABLE"
        let archive = archive([try FakeEntries.entry(1, at: 1), broken, unreadable])
        let list = try archive.list(ReportFilter(), atMost: nil)
        #expect(list.reports.count == 3)
        #expect(incidents(list) == ["0001"])
        let notes = archive.takeNotes()
        #expect(notes.count == 2)
        #expect(notes.contains { $0.contains("the journal entry of 1970-01-01 00:00:02 +0000 on alpha (1): line 1: ") })
        #expect(notes.contains { $0.contains("(2): the journal's file is damaged there") })
        #expect(archive.takeNotes() == [])
        let groups = try archive.groups(ReportFilter())
        #expect(groups.groups.map(\.count) == [1])
        #expect(groups.failures.count == 2)
        #expect(throws: ReportStoreError.self) { try archive.salvage(list.reports[0]) }
    }

    @Test("damage that hides entries is reported")
    func damagedFile() throws {
        let entries = FakeEntries([try FakeEntries.entry(1, at: 100)])
        let archive = ReportArchive(
            ReportArchive.Sources(folder: nil, journal: .local), entries: entries, user: 0, machine: nil)
        #expect(try archive.list(ReportFilter(), atMost: nil).reports.count == 1)
        #expect(archive.takeNotes() == [])
        entries.isDamaged = true
        #expect(archive.takeNotes().first?.hasPrefix("a journal file is damaged, and some entries cannot") == true)
    }

    @Test("an entry without its report is listed by its fields, and reading it names the place of the report")
    func omitted() throws {
        var large = try FakeEntries.entry(1, at: 1)
        large["WATCHDOGD_REPORT_DATA"] = nil
        large["WATCHDOGD_REPORT_OMITTED"] = "1048577 bytes, more than 1048576"
        let archive = archive([large])
        let report = try #require(try archive.list(ReportFilter(), atMost: nil).reports.first)
        #expect(report.metadata?.linux?.verdict == "Main thread blocked 9.96 s in recvfrom")
        #expect(report.entry?.omission == "1048577 bytes, more than 1048576")
        let error = #expect(throws: ReportStoreError.self) { try archive.salvage(report) }
        #expect(error?.code == .notFound)
        #expect(
            error?.description.hasSuffix(
                "1048577 bytes, more than 1048576; look on alpha at /var/log/watchdogd/reports/HangMain-1.ips") == true)
    }

    @Test("a report of 1 MiB is read; one byte more is rejected", arguments: [0, 1])
    func size(excess: Int) throws {
        var entry = try FakeEntries.entry(1, at: 1)
        let bytes = entry.fields["WATCHDOGD_REPORT_DATA"] ?? []
        entry.fields["WATCHDOGD_REPORT_DATA"] =
            bytes + [UInt8](repeating: 0x20, count: (1 << 20) - bytes.count + excess)
        let archive = archive([entry])
        let report = try archive.find("latest")
        if excess == 0 {
            #expect(try archive.salvage(report).faults == [])
        } else {
            #expect(throws: ReportStoreError.self) { try archive.salvage(report) }
        }
    }

    @Test("an incident appears once, even if it is twice in the journal or also in a folder; the file takes precedence")
    func duplicates() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: folder)
            var facts = Samples.facts(number: 1)
            facts.captureTime = WallTime(seconds: 100)
            _ = try store.write(Report(of: facts, on: Samples.host, capture: nil))
            let entries = [
                try FakeEntries.entry(1, at: 100), try FakeEntries.entry(2, at: 200), try FakeEntries.entry(2, at: 201),
            ]
            let archive = archive(entries, folder: folder)
            let list = try archive.list(ReportFilter(), atMost: nil)
            #expect(incidents(list) == ["0002", "0001"])
            #expect(list.reports.map { $0.entry == nil } == [false, true])
            #expect(try archive.groups(ReportFilter()).groups.map(\.count) == [2])
            #expect(try archive.find("latest").entry != nil)
            #expect(try archive.find("00000000-0000-4000-8000-000000000001").entry == nil)
            var visited = 0
            try archive.forEach(ReportFilter()) { _, _ in visited += 1 }
            #expect(visited == 2)
        }
    }

    @Test("one report of each signature is read; incidents that it counts are counted, and not listed")
    func groups() throws {
        var repeated = try FakeEntries.entry(9, at: 90)
        repeated["WATCHDOGD_REPORT_DATA"] = nil
        repeated["WATCHDOGD_REPEATS"] = "1"
        let entries = FakeEntries(try (1...8).map { try FakeEntries.entry($0, at: Int64($0)) } + [repeated])
        let archive = ReportArchive(
            ReportArchive.Sources(folder: nil, journal: .local), entries: entries, user: 0, machine: nil)
        let groups = try archive.groups(ReportFilter()).groups
        #expect(groups.map(\.count) == [9])
        #expect(groups.first?.first == WallTime(seconds: 1))
        #expect(groups.first?.last == WallTime(seconds: 90))
        #expect(try archive.list(ReportFilter(), atMost: nil).reports.count == 8)
    }

    private func counted(
        _ archive: ReportArchive, _ filter: ReportFilter = ReportFilter()
    ) throws -> [OrganizerIncident] {
        var found: [OrganizerIncident] = []
        try archive.forEachIncident(filter) { incident, _ in
            if let incident = try? incident.get() { found.append(incident) }
        }
        return found.sorted { $0.time < $1.time }
    }

    @Test("the organizer reads one report of each signature, and counts the others by their fields")
    func incidentsByFields() throws {
        func entry(_ number: Int, at seconds: Int64, host: String = "alpha") throws -> FakeEntries.Entry {
            var facts = Samples.facts(number: number)
            facts.captureTime = WallTime(seconds: seconds)
            return try FakeEntries.entry(number, at: seconds, host: host, report: Samples.report(facts))
        }
        var repeated = try entry(9, at: 90)
        repeated["WATCHDOGD_REPORT_DATA"] = nil
        repeated["WATCHDOGD_REPEATS"] = "1"
        var old = try entry(1, at: 1, host: "beta")
        old["WATCHDOGD_APP_VERSION"] = nil
        old["WATCHDOGD_APP_BUILD"] = "9f2c41aa"
        old["WATCHDOGD_VISIBILITY"] = "background"
        let entries = FakeEntries([old] + (try (2...8).map { try entry($0, at: Int64($0)) }) + [repeated])
        let archive = ReportArchive(
            ReportArchive.Sources(folder: nil, journal: .local), entries: entries, user: 0, machine: nil)
        let found = try counted(archive)
        #expect(entries.reportReads == 2)
        #expect(found.map(\.time) == [1, 2, 3, 4, 5, 6, 7, 8, 90])
        #expect(Set(found.map(\.incident)).count == 9)
        let complete = try archive.salvage(archive.find("00000000-0000-4000-8000-000000000008")).report
        let line = IncidentLine(of: complete, host: nil)
        #expect(!line.frames.isEmpty)
        #expect(
            found.allSatisfy { $0.frames == line.frames && $0.cause == line.cause && $0.signature == line.signature })
        #expect(found.allSatisfy { $0.event == "scene-update" && $0.count == 1 })
        #expect((found[0].host, found[0].version, found[0].role) == ("beta", "9f2c41aa", .background))
        #expect((found[8].host, found[8].version, found[8].role) == ("alpha", "1.4", .unknown))
        #expect(try counted(archive, ReportFilter(since: WallTime(seconds: 8))).map(\.time) == [8, 90])
        #expect(try counted(archive, ReportFilter(app: "no such app")) == [])
    }

    @Test("an incident without a report anywhere is counted with the kind of its verdict")
    func incidentsWithoutReport() throws {
        var large = try FakeEntries.entry(1, at: 1)
        large["WATCHDOGD_REPORT_DATA"] = nil
        let found = try counted(archive([large]))
        #expect(found.map(\.cause) == ["blocked"])
        #expect(found.map(\.signature) == ["00000001"])
    }

    @Test("a report is found by the first digits of its incident, and several matches are reported")
    func find() throws {
        let archive = archive([try FakeEntries.entry(1, at: 1), try FakeEntries.entry(2, at: 2)])
        let found = try archive.find("00000000-0000-4000-8000-000000000001")
        #expect(try archive.salvage(found).report.metadata.incidentID.hasSuffix("0001"))
        let ambiguous = #expect(throws: ReportStoreError.self) { try archive.find("00000000") }
        #expect(ambiguous?.code == .ambiguous)
        let missing = #expect(throws: ReportStoreError.self) { try archive.find("ffff") }
        #expect(missing?.description.contains("the journal holds no such report") == true)
        #expect(throws: ReportStoreError.self) { try archive.find("abc") }
    }

    @Test(
        "a list shows the version, else the build of the program",
        arguments: [
            ("1.4", "9f2c41aa", "1.4"), (nil, "9f2c41aa", "9f2c41aa"), ("", "9f2c41aa", "9f2c41aa"), (nil, nil, "-"),
        ] as [(String?, String?, String)])
    func version(named: String?, build: String?, shown: String) throws {
        var entry = try FakeEntries.entry(0, at: 0)
        entry["WATCHDOGD_APP_VERSION"] = named
        entry["WATCHDOGD_APP_BUILD"] = build
        // Otherwise the report in it says both.
        entry["WATCHDOGD_REPORT_DATA"] = nil
        let list = try archive([entry], allUsers: true).list(ReportFilter(), atMost: nil)
        let lines = ReportListing.text(list.reports, showsHosts: true, showsUsers: false).split(separator: "\n")
        let words = try #require(lines.dropFirst().first).split(separator: " ")
        #expect(words.contains { $0 == shown }, "\(lines)")
    }

    @Test("no bytes in the fields stop the reader")
    func hostile() throws {
        var random = SeededGenerator(seed: 7)
        let names = try FakeEntries.entry(0, at: 0).fields.keys.sorted().filter { $0 != "MESSAGE_ID" }
        let whole = try FakeEntries.entry(0, at: 0).fields["WATCHDOGD_REPORT_DATA"] ?? []
        let entries = try (0..<400).map { number in
            var entry = try FakeEntries.entry(number, at: Int64(number))
            for _ in 0..<3 {
                let name = names[Int.random(in: names.indices, using: &random)]
                entry.fields[name] = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                    UInt8.random(in: .min ... .max, using: &random)
                }
            }
            if number % 3 == 0 {
                var bytes = Array(whole.prefix(Int.random(in: 0...whole.count, using: &random)))
                for index in bytes.indices where UInt8.random(in: 0...50, using: &random) == 0 {
                    bytes[index] = UInt8.random(in: .min ... .max, using: &random)
                }
                entry.fields["WATCHDOGD_REPORT_DATA"] = bytes
            }
            return entry
        }
        let archive = archive(entries, allUsers: true)
        let list = try archive.list(ReportFilter(), atMost: nil)
        #expect(list.reports.count > 50)
        for report in list.reports { _ = try? archive.salvage(report) }
        let text = ReportListing.text(list.reports, showsHosts: true, showsUsers: true)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 79 })
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 })
        _ = try archive.groups(ReportFilter())
    }
}
