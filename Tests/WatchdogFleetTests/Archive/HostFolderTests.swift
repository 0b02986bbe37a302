// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing
import WatchdogBase
import WatchdogRendering
import WatchdogReport

@testable import WatchdogFleet
@testable import WatchdogReportStore

@Suite("A folder of hosts' folders")
struct HostFolderTests {
    private func write(_ number: Int, at seconds: Int64, to folder: String) throws {
        var facts = Samples.facts(number: number)
        facts.captureTime = WallTime(seconds: seconds)
        let store = ReportStore(directory: folder)
        try store.prepare()
        _ = try store.write(Report(of: facts, on: Samples.host, capture: nil))
    }

    @Test("yields each incident once, with its host, and does not follow links or enter hidden folders")
    func hosts() throws {
        try TestFiles.withFolder { folder in
            try write(1, at: 100, to: "\(folder)/all/alpha")
            try write(2, at: 200, to: "\(folder)/all/beta")
            try write(2, at: 200, to: "\(folder)/all/gamma")
            try write(3, at: 300, to: "\(folder)/all")
            try write(4, at: 400, to: "\(folder)/all/.hidden")
            try write(5, at: 500, to: "\(folder)/elsewhere")
            #expect(symlink("\(folder)/elsewhere", "\(folder)/all/link") == 0)
            let archive = try ReportArchive(ReportArchive.Sources(folder: "\(folder)/all"))
            let reports = try archive.list(ReportFilter(), atMost: nil).reports
            #expect(reports.map(\.host) == [nil, "beta", "alpha"])
            for report in reports { #expect(try archive.salvage(report).faults == []) }
            #expect(try archive.find("00000000-0000-4000-8000-000000000001").host == "alpha")
            #expect(try archive.find("latest").host == nil)
        }
    }

    @Test("yields one host's reports by its folder's name, or by the reports' content")
    func host() throws {
        try TestFiles.withFolder { folder in
            try write(1, at: 100, to: "\(folder)/alpha")
            try write(2, at: 200, to: folder)
            var sources = ReportArchive.Sources(folder: folder)
            sources.host = "Alpha"
            #expect(try ReportArchive(sources).list(ReportFilter(), atMost: nil).reports.map(\.host) == ["alpha"])
            #expect(try ReportArchive(sources).find("latest").host == "alpha")
            sources.host = Samples.host.hostName
            #expect(try ReportArchive(sources).list(ReportFilter(), atMost: nil).reports.map(\.host) == [nil])
        }
    }

    @Test("a list with a limit reads no more than the newest files, whatever zone their hosts are in")
    func newest() throws {
        try TestFiles.withFolder { folder in
            let day: Int64 = 86_400
            for number in 1...30 { try write(number, at: Int64(number) * day, to: "\(folder)/alpha") }
            // Its name is nine hours later than its time: 31 is older than 30 of alpha.
            var facts = Samples.facts(number: 31)
            facts.captureTime = WallTime(seconds: 30 * day - 60, utcOffset: 9 * 3_600)
            let tokyo = ReportStore(directory: "\(folder)/tokyo")
            try tokyo.prepare()
            _ = try tokyo.write(Report(of: facts, on: Samples.host, capture: nil))
            let archive = try ReportArchive(ReportArchive.Sources(folder: folder))
            let list = try archive.list(ReportFilter(), atMost: 3)
            #expect(list.reports.map(\.host) == ["alpha", "tokyo", "alpha"])
            #expect(list.isCut)
            #expect(try archive.list(ReportFilter(), atMost: 31).isCut == false)
            #expect(try archive.list(ReportFilter(app: "no such app"), atMost: 3).reports == [])
            var read = 0
            _ = try ReportStore(directory: folder).newestOfHosts(3) { _ in
                read += 1
                return true
            }
            #expect(read == 4)
        }
    }

    @Test("the organizer reads one report of each signature, and counts the others by their first lines")
    func incidents() throws {
        try TestFiles.withFolder { folder in
            let store = ReportStore(directory: "\(folder)/alpha")
            try store.prepare()
            for number in 1...9 {
                var facts = Samples.facts(number: number)
                facts.captureTime = WallTime(seconds: Int64(number))
                var report = Samples.report(facts)
                // The first is as an earlier version wrote it.
                if number > 1 { report.summarize(Explanation(of: report)) }
                if number == 2 { report.countRepeat(at: WallTime(seconds: 3)) }
                let path = try store.write(report)
                // Only the newest, which is read first, and the old one are whole.
                guard (2...8).contains(number) else { continue }
                let line = try ReportCoding.encode(report).prefix { $0 != UInt8(ascii: "\n") }
                try TestFiles.write(Array(line) + [UInt8(ascii: "\n")], to: path)
            }
            var found: [OrganizerIncident] = []
            try ReportArchive(ReportArchive.Sources(folder: folder)).forEachIncident(ReportFilter()) { incident, _ in
                if let incident = try? incident.get() { found.append(incident) }
            }
            found.sort { $0.time < $1.time }
            #expect(found.map(\.time) == Array(1...9))
            #expect(found.map(\.count) == [1, 2, 1, 1, 1, 1, 1, 1, 1])
            #expect(Set(found.map(\.incident)).count == 9)
            let line = IncidentLine(of: Samples.report(), host: nil)
            #expect(!line.frames.isEmpty)
            #expect(
                found.allSatisfy {
                    $0.frames == line.frames && $0.cause == line.cause && $0.signature == line.signature
                        && $0.host == "alpha" && $0.event == line.event && $0.role.rawValue == line.role ?? "unknown"
                })
        }
    }
}
