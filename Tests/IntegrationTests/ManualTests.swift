// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    /// The man pages as `make man` writes them.
    @Suite("Man pages", .enabled(if: isInstalled("python3"), "needs python3"))
    struct ManualTests {
        private let scratch: Scratch
        private let pages: [String]

        init() throws {
            let scratch = try Scratch()
            self.scratch = scratch
            let scripts = "\(#filePath)".split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/scripts"
            let program = try Program(["\(scripts)/manual", product("watchdogd"), scratch.path])
            let status = try program.end()
            try #require(status == .exited(code: 0), "\(program.text(.errors))")
            pages = ["man1", "man5"].flatMap { folder in names(in: scratch[folder]).map { "\(folder)/\($0)" } }
        }

        private func run(_ command: [String]) throws -> (output: String, errors: String) {
            var environment = testEnvironment()
            environment["MANWIDTH"] = "80"
            environment["MANPAGER"] = "cat"
            let program = try Program(command, environment: environment, directory: scratch.path)
            _ = try program.end()
            return (program.text(.output), program.text(.errors))
        }

        @Test("every command has a page, which the main page names")
        func completeness() throws {
            let help = try run([product("watchdogd"), "--help"]).output
            let commands = help.matches(of: #/(?m)^  ([a-z]+) {2,}/#).map { String($0.output.1) }.filter {
                $0 != "help"
            }
            #expect(commands.contains("run"))
            #expect(
                Set(pages)
                    == Set(
                        ["man1/watchdogd.1", "man5/watchdogd.app.5"] + commands.map { "man1/watchdogd-\($0).1" }))
            let main = try #require(scratch.read("man1/watchdogd.1"))
            for command in commands { #expect(main.contains(".Xr watchdogd-\(command) 1")) }
        }

        @Test("every command's page has its exit codes, or refers to the main page")
        func exitCodes() throws {
            func codes(_ page: String) throws -> Substring {
                let parts = try #require(scratch.read(page)).split(separator: ".Sh EXIT STATUS\n")
                try #require(parts.count == 2, "\(page)")
                return try #require(parts[1].split(separator: ".Sh ").first)
            }
            let main = try codes("man1/watchdogd.1")
            for code in [0, 1, 64, 65, 66, 67, 69, 70, 71, 73, 74, 75, 76, 77] {
                #expect(main.contains(".It \(code)\n"), "\(code)")
            }
            for page in pages where page.hasPrefix("man1/watchdogd-") {
                let text = try codes(page)
                #expect(text.contains(".It 64\n") || text.contains(".Xr watchdogd 1"), "\(page)")
            }
            #expect(try codes("man1/watchdogd-run.1").contains(".It 137\n"))
            #expect(try codes("man1/watchdogd-check.1").contains(".It 65\n"))
            #expect(try codes("man1/watchdogd-serve.1").contains(".It 73\n"))
            #expect(try codes("man1/watchdogd-report.1").contains(".It 69, 70\n"))
            #expect(try codes("man1/watchdogd-status.1").contains(".Xr watchdogd 1"))
        }

        @Test("mandoc reports no problem", .enabled(if: isInstalled("mandoc"), "needs mandoc"))
        func lint() throws {
            for page in pages {
                // The style level asks for pages that are not installed here.
                let lint = try run(["mandoc", "-Tlint", "-Wwarning", page])
                #expect(lint.output + lint.errors == "")
            }
        }

        @Test("groff reports no problem, and the pages fit 80 columns", .enabled(if: isInstalled("man"), "needs man"))
        func rendering() throws {
            for page in pages {
                let (text, warnings) = try run(["man", "--warnings", "--local-file", page])
                #expect(warnings == "", "\(page)")
                let isExample: (Substring) -> Bool = { $0.hasPrefix("           ") }
                let long = text.split(separator: "\n").filter { $0.count > 80 && !isExample($0) }
                #expect(long == [], "\(page)")
            }
        }

        @Test("the configuration's page has every key of the example")
        func keys() throws {
            let root = "\(#filePath)".split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
            let example = String(decoding: try #require(contents(of: "\(root)/units/example.app")), as: UTF8.self)
            let page = try run(["man", "--local-file", "man5/watchdogd.app.5"]).output
            let keys = example.matches(of: #/(?m)^#?([A-Z][A-Za-z]+)=/#).map { String($0.output.1) }
            #expect(keys.count > 50)
            for key in keys { #expect(page.contains(key), "\(key)") }
        }
    }
}
