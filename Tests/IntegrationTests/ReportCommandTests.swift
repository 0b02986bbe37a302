// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogLinux
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

        /// Two incidents, the second more than a second after the first.
        private func twoReports() throws -> Ending {
            let run = try Supervision(
                unhurried(["--name", "editor", "--enforce", "report", "--update", "300ms"]),
                python(
                    """
                    def wake(*_): raise InterruptedError
                    signal.signal(signal.SIGUSR1, wake)
                    for words in ["READY=1", "WATCHDOG=1"], ["WATCHDOG=1"]:
                        try:
                            notify(*words)
                            time.sleep(3600)
                        except InterruptedError: pass
                    os._exit(0)
                    """))
            try run.line("] reported: ", on: .errors)
            // The names of reports contain seconds.
            poll(nil, 0, 1_100)
            try run.send(SIGUSR1)
            try run.line("] reported: ", on: .errors)
            try run.send(SIGUSR1)
            let ending = try run.end()
            try #require(ending.reports.count == 2)
            return ending
        }

        @Test("delete removes the named crash logs after confirmation, and those that are old enough")
        func delete() throws {
            let ending = try twoReports()
            let folder = ending.scratch["reports"]
            let paths = ending.reportPaths
            let unasked = try report("delete", "latest", in: folder)
            #expect(unasked.code == 64)
            #expect(
                unasked.errors == [
                    "watchdogd: nothing was deleted: no terminal to ask on; use --yes to skip the question"
                ])
            #expect(paths.allSatisfy { access($0, F_OK) == 0 })
            let newest = try #require(ending.summary?.report)
            let first = try report("delete", "--yes", "latest", in: folder)
            #expect(first.code == 0)
            #expect(first.errors == ["watchdogd: deleted 1 crash log"])
            #expect(paths.filter { access($0, F_OK) == 0 } == paths.filter { $0 != newest })
            let young = try report("delete", "--yes", "--older-than", "1h", in: folder)
            #expect(young.errors == ["watchdogd: no crash log is that old"])
            let old = try report("delete", "--yes", "--older-than", "1ms", "--app", "editor", in: folder)
            #expect(old.errors == ["watchdogd: deleted 1 crash log"])
            #expect(paths.allSatisfy { access($0, F_OK) != 0 })
            #expect(try report("delete", in: folder).code == 64)
            #expect(try report("delete", "--journal", "latest", in: folder).code == 64)
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
            #expect(rows.allSatisfy { !$0.contains("...") }, "without a terminal, nothing is cut")

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

        @Test("Times use the reader's clock, and the zone is named")
        func zones() throws {
            let ending = try twoReports()
            func output(_ command: String, in zone: String) throws -> String {
                var environment = testEnvironment()
                environment["TZ"] = zone
                let program = try Program(
                    [product("watchdogd"), "report", command, "--reports", ending.scratch["reports"]],
                    environment: environment)
                #expect(try program.end().code == 0)
                return program.text(.output)
            }
            for (zone, name) in [("UTC0", "UTC"), ("JST-9", "JST"), ("<+0545>-5:45", "+0545")] {
                #expect(try output("list", in: zone).contains("DATE (\(name)) "))
                #expect(try output("group", in: zone).contains("FIRST (\(name)) "))
                #expect(try output("explain", in: zone).split(separator: "\n").first?.hasSuffix(" \(name)") == true)
            }
            let (here, there) = (try output("list", in: "UTC0"), try output("list", in: "JST-9"))
            #expect(here.split(separator: "\n").last != there.split(separator: "\n").last)
        }

        @Test("A folder without reports is not an error; a missing one is: 66")
        func noReports() throws {
            let scratch = try Scratch()
            let list = try report("list", in: scratch.path)
            #expect(list.code == 0)
            #expect(list.output == "No reports in \(scratch.path).\n")
            #expect(try report("list", "--json", in: scratch.path).output == "[]\n" || list.code == 0)
            try expectFailure(try report("show", "latest", in: scratch.path), 66, "holds no report")
            try expectFailure(try report("list", in: scratch["nowhere"]), 66, "nowhere")
        }

        @Test(
            "Without permission, the message names who has it: 77",
            .enabled(if: isRoot && isInstalled("setpriv"), "needs root and setpriv"))
        func permission() throws {
            let scratch = try Scratch()
            chmod(scratch.path, 0o755)
            let folder = try scratch.makeDirectory("reports", mode: 0o750)
            try scratch.write("", to: "reports/web-2026-01-01-000000.ips")
            for arguments in [
                ["list", "--reports", folder], ["show", "latest", "--reports", folder],
                ["show", "\(folder)/web-2026-01-01-000000.ips"],
            ] {
                let program = try Program(
                    ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", product("watchdogd"), "report"]
                        + arguments)
                #expect(try program.end().code == 77)
                let end = ": Permission denied (EACCES); \(folder) is readable by root and group root\n"
                #expect(program.text(.errors).hasSuffix(end), "\(program.text(.errors))")
            }
        }

        @Test("A reference without a match exits with 66, an ambiguous one with 64")
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

        @Test(
            "An app's name stands for its latest report, path prints the file, and WATCHDOGD_REPORTS names the folder")
        func names() throws {
            let ending = try twoReports()
            let folder = ending.scratch["reports"]
            let latest = try report("path", in: folder)
            #expect(latest.code == 0)
            #expect(ending.reportPaths.contains(latest.output.trimmed), "\(latest.output)")
            #expect(try report("path", "editor", in: folder).output == latest.output)
            #expect(try report("show", "editor", in: folder).output == report("show", in: folder).output)
            try expectFailure(try report("show", "no-such-app", in: folder), 66, "no-such-app")
            var environment = testEnvironment()
            environment["WATCHDOGD_REPORTS"] = folder
            let program = try Program([product("watchdogd"), "report", "path"], environment: environment)
            #expect(try program.end().code == 0)
            #expect(program.text(.output) == latest.output)
            #expect(try report("latest", in: folder).output == report("show", "latest", in: folder).output)
            let wrong = try Program([product("watchdogd"), "report", "editor"])
            #expect(try wrong.end().code == 64)
            #expect(wrong.text(.errors).contains("use 'watchdogd report show editor'"), "\(wrong.text(.errors))")
        }

        @Test("Garbage in the folder is listed as damaged and affects nothing else; showing it is an error: 65")
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

        @Test("group counts, explain explains, diff compares, export writes each form")
        func reading() throws {
            let ending = try twoReports()
            let folder = ending.scratch["reports"]
            let group = try report("group", "--app", "editor", in: folder)
            #expect(group.code == 0)
            #expect(group.output.split(separator: "\n").first?.hasPrefix("COUNT") == true)
            for command in ["list", "group"] {
                let none = try report(command, "--app", "other", in: folder)
                #expect(none.code == 0 && none.output == "No report matches --app other (2 reports do not)\n")
                let near = try report(command, "--app", "editer", in: folder).output
                #expect(near == "No report matches --app editer (2 reports do not); did you mean editor?\n")
                #expect(try report(command, "--app", "other", "--json", in: folder).output == "[\n\n]\n")
            }
            #expect(try report("list", "--limit", "1", in: folder).output.split(separator: "\n").count == 2)
            let explained = try report("explain", in: folder)
            #expect(explained.code == 0)
            #expect(explained.output.hasPrefix("editor["))
            #expect(explained.output.contains("What to do"))
            #expect(explained.output.split(separator: "\n", omittingEmptySubsequences: false).count <= 26)
            let difference = try report("diff", ending.reportPaths[0], "latest", in: folder)
            #expect(difference.code == 0)
            #expect(difference.output.contains(" signature"))
            for (format, beginning) in [
                ("crash", "Incident Identifier"), ("ips", "{\"app_name\""), ("json", "{\n"),
                ("html", "<!DOCTYPE html>"), ("metrickit", "{\n"),
            ] {
                let exported = try report("export", "--format", format, in: folder)
                #expect(exported.code == 0)
                #expect(exported.output.hasPrefix(beginning), "\(format)")
                let path = ending.scratch["page.\(format)"]
                #expect(try report("export", "--format", format, "--output", path, in: folder).output == "")
                #expect(contents(of: path).map { String(decoding: $0, as: UTF8.self) } == exported.output)
            }
            let failed = try report("export", "--format", "html", "--output", "/no/such/page", in: folder)
            try expectFailure(failed, 74, "/no/such/page")
            #expect(try report("list", "--since", "yesterday", in: folder).code == 64)
            #expect(try report("export", "--format", "pdf", in: folder).code == 64)
        }

        @Test("A truncated report is shown as far as possible, and the damage is reported")
        func cut() throws {
            let ending = try twoReports()
            let whole = try #require(contents(of: ending.reportPaths[0]))
            let text = String(decoding: whole.prefix(whole.count * 3 / 4), as: UTF8.self)
            try ending.scratch.write(text, to: "cut.ips")
            let shown = try report("show", ending.scratch["cut.ips"], in: ending.scratch["reports"])
            #expect(shown.code == 0)
            #expect(shown.output.contains("Process:             editor ["))
            #expect(shown.errors.first?.contains("cannot be read completely: line ") == true)
        }

        @Test("open without a display writes a page that only its owner may read, and prints its path")
        func open() throws {
            let ending = try twoReports()
            var environment = testEnvironment()
            environment["DISPLAY"] = nil
            environment["WAYLAND_DISPLAY"] = nil
            environment["TMPDIR"] = ending.scratch.path
            let program = try Program(
                [product("watchdogd"), "report", "open", "--reports", ending.scratch["reports"]],
                environment: environment)
            #expect(try program.end().code == 0)
            let path = program.text(.output).split(separator: "\n").map(String.init).first ?? ""
            #expect(path.hasPrefix("\(ending.scratch.path)/watchdogd-report-") && path.hasSuffix(".html"))
            let page = contents(of: path).map { String(decoding: $0, as: UTF8.self) }
            #expect(page?.hasPrefix("<!DOCTYPE html>") == true)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }

        @Test(
            "A default folder that does not exist yet is not an error for a list, and is named for a report",
            .enabled(if: geteuid() != 0, "root's default folder is the machine's"))
        func defaultFolder() throws {
            let scratch = try Scratch()
            var environment = testEnvironment()
            environment["XDG_STATE_HOME"] = scratch["state"]
            for (arguments, code) in [(["list"], Int32(0)), (["group"], 0), (["explain"], 66), (["show"], 66)] {
                let program = try Program([product("watchdogd"), "report"] + arguments, environment: environment)
                #expect(try program.end().code == code)
                #expect(program.text(.errors).contains("no crash logs yet in \(scratch["state"])"))
            }
        }

        private static let browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
            .first(where: FileManager.default.isExecutableFile(atPath:))

        @Test(
            "A browser renders the page without console output, and runs its script",
            .enabled(if: browser != nil, "no chromium is installed"))
        func browserRendersThePage() throws {
            let ending = try twoReports()
            let page = ending.scratch["page.html"]
            _ = try report("export", "--format", "html", "--output", page, in: ending.scratch["reports"])
            let browser = try Program([
                try #require(Self.browser), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                "--user-data-dir=\(ending.scratch["profile"])", "--dump-dom", "file://\(page)",
            ])
            #expect(try browser.end().code == 0)
            #expect(browser.text(.output).contains("</html>"))
            #expect(browser.text(.errors).split(separator: "\n").filter { $0.contains("CONSOLE") } == [])
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
