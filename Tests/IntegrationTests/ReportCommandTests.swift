// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogReport

extension EndToEnd {
    @Suite("watchdogd report")
    struct ReportCommandTests {
        private struct Answer {
            let code: Int32?
            let output: String
            let errors: [String]
        }

        private func report(_ arguments: String..., in folder: String) throws -> Answer {
            let options = arguments.first.map { _ in ["--reports", folder] } ?? []
            let program = try Program([product("watchdogd"), "report"] + arguments + options)
            let code = try program.end().code
            return Answer(
                code: code, output: program.text(.output),
                errors: program.text(.errors).split(separator: "\n").map(String.init))
        }

        /// Two incidents, the second one second after the first.
        private func twoReports() throws -> Ending {
            let ending = try supervise(
                ["--name", "editor", "--enforce", "report", "--update", "300ms"],
                python(
                    #"notify("READY=1", "WATCHDOG=1"); time.sleep(1.1); notify("WATCHDOG=1"); time.sleep(0.6); exit(0)"#
                ))
            try #require(ending.reports.count == 2)
            return ending
        }

        @Test("list shows the newest first; show finds a report by latest, identifier, name and path")
        func listAndShow() throws {
            let ending = try twoReports()
            let folder = ending.scratch["reports"]
            let newest = try #require(ending.summary?.report)
            let newestID = try ReportCoding.decode(contents(of: newest) ?? []).metadata.incidentID

            let list = try report("list", in: folder)
            #expect(list.code == 0)
            let rows = list.output.split(separator: "\n")
            #expect(rows.count == 3)
            #expect(rows[0].hasPrefix("ID"))
            #expect(rows[1].hasPrefix(newestID.prefix(8)))
            #expect(rows.allSatisfy { $0.count < 80 })

            let latest = try report("show", "latest", in: folder)
            #expect(latest.code == 0)
            #expect(latest.output.hasPrefix("Incident Identifier: \(newestID)\n"))
            #expect(latest.output.contains("Termination Reason:"))
            #expect(latest.output.contains("Thread 0 "))
            #expect(latest.output.contains("Binary Images:"))
            let name = newest.split(separator: "/").last.map(String.init) ?? ""
            for reference in [String(newestID.prefix(8)).lowercased(), newestID, newest, name] {
                #expect(try report("show", reference, in: folder).output == latest.output)
            }
            #expect(try report("show", in: folder).output == latest.output, "latest is the default")
        }

        @Test("--json prints the list as JSON, and a report as it is stored")
        func json() throws {
            let ending = try twoReports()
            let folder = ending.scratch["reports"]
            struct Entry: Decodable {
                var incident: String
                var app: String
                var event: String
                var path: String
                var pid: Int
            }
            let list = try report("list", "--json", in: folder)
            let entries = try JSONDecoder().decode([Entry].self, from: Data(list.output.utf8))
            #expect(Set(entries.map(\.incident)) == Set(ending.reports.map(\.metadata.incidentID)))
            #expect(entries.allSatisfy { $0.app == "editor" && $0.event == "scene-update" })
            let newest = try #require(ending.summary?.report)
            #expect(entries.first?.path == newest)
            let shown = try report("show", "--json", in: folder)
            #expect(Array(shown.output.utf8) == contents(of: newest))
        }

        @Test("A folder without reports is no error; one that is not there is: 66")
        func noReports() throws {
            let scratch = try Scratch()
            let list = try report("list", in: scratch.path)
            #expect(list.code == 0)
            #expect(list.output == "No reports.\n")
            #expect(try report("list", "--json", in: scratch.path).output == "[]\n" || list.code == 0)
            try expectFailure(try report("show", "latest", in: scratch.path), 66, "holds no report")
            try expectFailure(try report("list", in: scratch["nowhere"]), 66, "nowhere")
        }

        @Test("A reference that fits nothing: 66; one that fits several: 64")
        func references() throws {
            let ending = try twoReports()
            let folder = ending.scratch["reports"]
            try expectFailure(try report("show", "FFFF0000FFFF", in: folder), 66, "FFFF0000FFFF")
            try expectFailure(try report("show", "/no/such/file.ips", in: folder), 66, "/no/such/file.ips")
            try expectFailure(try report("show", "no-such.ips", in: folder), 66, "no-such.ips")
            let identifier = ending.reports[0].metadata.incidentID
            try FileManager.default.copyItem(
                atPath: ending.reportPaths[0], toPath: "\(folder)/copy-2026-01-01-000000.ips")
            try expectFailure(try report("show", identifier, in: folder), 64, "copy-2026-01-01-000000.ips")
        }

        @Test("Garbage in the folder is listed as damaged and disturbs nobody; shown, it is an error: 65")
        func garbage() throws {
            let ending = try twoReports()
            let folder = ending.scratch["reports"]
            try ending.scratch.write("no JSON\u{0} at all", to: "reports/noise-2031-01-01-000000.ips")
            try ending.scratch.write("", to: "reports/empty-2031-01-01-000001.ips")
            try ending.scratch.write("notes", to: "reports/README")
            let list = try report("list", in: folder)
            #expect(list.code == 0)
            #expect(list.output.split(separator: "\n").count == 5)
            #expect(list.output.components(separatedBy: "damaged").count == 3)
            try expectFailure(try report("show", "noise-2031-01-01-000000.ips", in: folder), 65, "line 1")
            try expectFailure(try report("show", "empty-2031-01-01-000001.ips", in: folder), 65, "empty-2031")
            #expect(try report("show", ending.reports[0].metadata.incidentID, in: folder).code == 0)
        }

        private func expectFailure(
            _ answer: Answer, _ code: Int32, _ words: String, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            #expect(answer.code == code, sourceLocation: sourceLocation)
            #expect(answer.output == "", sourceLocation: sourceLocation)
            #expect(answer.errors.count == 1, "\(answer.errors)", sourceLocation: sourceLocation)
            #expect(answer.errors.first?.hasPrefix("watchdogd: ") == true, sourceLocation: sourceLocation)
            #expect(answer.errors.first?.contains(words) == true, "\(answer.errors)", sourceLocation: sourceLocation)
        }
    }
}
