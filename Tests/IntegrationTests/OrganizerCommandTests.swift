// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogLinux

extension EndToEnd {
    @Suite("watchdogd organizer")
    struct OrganizerCommandTests {
        private struct Reply: Decodable {
            struct App: Decodable {
                struct Version: Decodable {
                    let version: String
                    let isLatest: Bool
                    let incidents: Int
                    let launches: Launches?
                }

                struct Launches: Decodable {
                    let count: Int
                }

                struct Signature: Decodable {
                    let cause: String
                    let isNew: Bool
                    let incidents: Int
                }

                struct Host: Decodable {
                    let host: String
                    let incidents: Int
                }

                let app: String
                let incidents: Int
                let versions: [Version]
                let signatures: [Signature]
                let hosts: [Host]
            }

            let apps: [App]
        }

        private func organizer(_ arguments: String...) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program([product("watchdogd"), "organizer"] + arguments)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        /// A fleet of two hosts: version 1.0 on alpha sleeps too long; version 1.1 on beta also polls too long.
        private func fleet() throws -> Scratch {
            let fleet = try Scratch()
            for (host, version, calls) in [
                ("alpha", "1.0", ["time.sleep(1)"]), ("beta", "1.1", ["time.sleep(1)", "select.poll().poll(1000)"]),
            ] {
                for call in calls {
                    let ending = try supervise(
                        ["--name", "editor", "--app-version", version, "--enforce", "report", "--update", "300ms"],
                        python("import select\n" + #"notify("READY=1", "WATCHDOG=1"); \#(call); exit(0)"#))
                    try #require(ending.reports.count == 1, "\(ending.errors)")
                    if !fleet.exists(host) { _ = try fleet.makeDirectory(host) }
                    let path = try #require(ending.reportPaths.first)
                    let name = path.split(separator: "/").last.map(String.init) ?? ""
                    let text = String(decoding: try #require(contents(of: path)), as: UTF8.self)
                    try fleet.write(text, to: "\(host)/\(version)-\(call.utf8.count)-\(name)")
                }
            }
            return fleet
        }

        @Test(
            "Only the later of two versions has new crash logs in hosts' folders; lines give the same result"
        )
        func versions() throws {
            let fleet = try fleet()
            let answer = try organizer("--reports", fleet.path, "--json")
            #expect(answer.code == 0 && answer.errors == "", "\(answer.errors)")
            let reply = try JSONDecoder().decode(Reply.self, from: Data(answer.output.utf8))
            let app = try #require(reply.apps.first)
            #expect(reply.apps.count == 1 && app.app == "editor" && app.incidents == 3)
            #expect(app.versions.map(\.version) == ["1.0", "1.1"] && app.versions.map(\.incidents) == [1, 2])
            #expect(app.versions.last?.isLatest == true)
            #expect(app.signatures.filter(\.isNew).map(\.cause) == ["blocked in poll"], "\(app.signatures)")
            #expect(app.hosts.map(\.host) == ["beta", "alpha"] && app.hosts.map(\.incidents) == [2, 1])

            let text = try organizer("--reports", fleet.path)
            #expect(text.output.contains("1.1 (latest)") && text.output.contains("new: not seen before"))
            let old = try organizer("--reports", fleet.path, "--host", "alpha")
            #expect(old.output.contains("1 incident of 1 app") && !old.output.contains("1.1"))
            #expect(try organizer("--reports", fleet.path, "--app", "other").output == "no incidents\n")

            let lines = fleet["lines"]
            let export = try Program([
                product("watchdogd"), "report", "export", "--format", "ndjson", "--reports", fleet.path, "-o", lines,
            ])
            #expect(try export.end().code == 0)
            #expect(try organizer("--ndjson", lines, "--json").output == answer.output)
            // Duplicates in several sources count once.
            let both = try organizer("--ndjson", lines, "--ndjson", lines, "--reports", fleet.path, "--json")
            #expect(both.output == answer.output.replacing("\"repetitions\" : 0", with: "\"repetitions\" : 6"))

            let page = try organizer("--reports", fleet.path, "--html", fleet["page.html"])
            #expect(page.code == 0 && page.output == "")
            #expect(fleet.read("page.html")?.contains("<h2>editor</h2>") == true)
        }

        @Test("A history provides launches, and suffices without incidents")
        func history() throws {
            let scratch = try Scratch()
            let file = scratch["history.db"]
            for _ in 0..<2 {
                let ending = try supervise(
                    ["--name", "editor", "--history", file, "--readiness", "notify"],
                    python(#"notify("READY=1"); exit(0)"#))
                try #require(ending.exitCode == 0, "\(ending.errors)")
            }
            let answer = try organizer("--history", file, "--json")
            #expect(answer.code == 0, "\(answer.errors)")
            let app = try #require(try JSONDecoder().decode(Reply.self, from: Data(answer.output.utf8)).apps.first)
            #expect(app.incidents == 0 && app.versions.first?.launches?.count == 2)
            #expect(try organizer("--history", file).output.contains("LAUNCH P50"))
        }

        @Test("Crash logs and histories use the same name for a version", arguments: ["7.7", nil])
        func oneName(configured: String?) throws {
            let scratch = try Scratch()
            let file = scratch["history.db"]
            let ending = try supervise(
                ["--name", "editor", "--history", file, "--enforce", "report", "--update", "300ms"]
                    + (configured.map { ["--app-version", $0] } ?? []),
                python(#"notify("READY=1", "WATCHDOG=1"); time.sleep(1); exit(0)"#))
            let path = try #require(ending.reportPaths.first, "\(ending.errors)")
            _ = try scratch.makeDirectory("reports")
            let report = String(decoding: try #require(contents(of: path)), as: UTF8.self)
            let name = path.split(separator: "/").last ?? ""
            try scratch.write(report, to: "reports/\(name)")
            let answer = try organizer("--history", file, "--reports", scratch["reports"], "--json")
            let app = try #require(try JSONDecoder().decode(Reply.self, from: Data(answer.output.utf8)).apps.first)
            #expect(app.versions.count == 1 && app.versions.first?.incidents == 1, "\(answer.output)")
            #expect(app.versions.first?.launches?.count == 1)
            let version = try #require(app.versions.first?.version)
            #expect(configured.map { $0 == version } ?? (version.count == 8 && version.allSatisfy(\.isHexDigit)))
            #expect(app.signatures.allSatisfy { !$0.isNew })
        }

        @Test("Lines that are not incidents are reported once with their number; the rest counts")
        func damagedLines() throws {
            let scratch = try Scratch()
            let line =
                #"{"app":"a","event":"hang","signature":"s","time":"2026-11-23T09:14:22Z","host":"h\u001b[2J"}"# + "\n"
            try scratch.write(line + "nonsense\n" + line + "{}\n", to: "lines")
            let answer = try organizer("--ndjson", scratch["lines"])
            #expect(answer.code == 0 && answer.output.contains("2 incidents of 1 app"))
            #expect(!answer.output.contains("\u{1b}"))
            #expect(
                answer.errors == "watchdogd: \(scratch["lines"]), line 2: it is not a JSON object; "
                    + "2 lines in all are not incidents and were skipped\n")
        }

        @Test("Missing files and wrong options are one error that names them")
        func mistakes() throws {
            let missing = try organizer("--ndjson", "/nonexistent/lines")
            #expect(missing.code == 66 && missing.errors.contains("/nonexistent/lines"))
            #expect(try organizer("--history", "/nonexistent/history.db").code == 66)
            #expect(try organizer("--reports", "/nonexistent").code == 66)
            #expect(try organizer("--top", "0").code == 64)
            #expect(try organizer("--html", "-", "--json").code == 64)
            #expect(try organizer("--since", "soon").code == 64)
            #expect(try organizer("--ndjson", "-", "--ndjson", "-").code == 64)
            for answer in [missing, try organizer("--top", "0")] {
                #expect(answer.errors.split(separator: "\n").count == 1 && answer.output.isEmpty)
            }
        }
    }
}
