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
}
