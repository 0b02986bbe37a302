// SPDX-License-Identifier: Apache-2.0

import Testing

extension EndToEnd {
    @Suite("Sample apps launched for an event")
    struct StoryEventTests {
        /// Runs commands on QuickPick as a daemon's app, which is stopped before the first one.
        private func serve(stage: String, server: String, _ commands: [[String]]) throws -> StoryRecord {
            let scratch = try Scratch()
            let command = try StoryApp.quickPick.command(["--stage", stage, "--server", server], in: scratch)
            let words = command.map(quoted).joined(separator: " ")
            let service = try Service(["photos": "[App]\nEnabled=no\nExecStart=\(words)\n"], scratch: scratch)
            for command in commands + [["terminate", "photos"]] {
                let program = try Program([product("watchdogd")] + command + ["--control", scratch["control"]])
                #expect(try program.end().code == 0, "\(command): \(program.text(.errors))")
            }
            #expect(try service.end() == 0)
            return try StoryRecord(scratch)
        }

        private func link(_ target: String) -> [String] { ["event", "--launch", "photos", "url", target] }

        @Test("QuickPick with placeholders opens the photo of the link that launches it")
        func opened() throws {
            let record = try serve(
                stage: "placeholders", server: "127.0.0.1:1", [link("quickpick://photo/3")])
            #expect(record["launched-for"] == "url")
            #expect(record["opened"] == "Photo 3")
        }

        @Test(
            "QuickPick that loads its list after the launch has nothing to open at that time",
            arguments: ["3", "4", "5"])
        func lost(stage: String) throws {
            let network = try PhotoService(["--profile", "100-percent-loss"])
            let record = try serve(stage: stage, server: network.address, [link("quickpick://photo/3")])
            #expect(record["launched-for"] == "url")
            #expect(record["opened"] == "nothing")
        }

        @Test("A later link opens a photo in the running app")
        func later() throws {
            let record = try serve(
                stage: "placeholders", server: "127.0.0.1:1", [["launch", "photos"], link("quickpick://photo/3")])
            #expect(record["launched-for"] == nil)
            #expect(record["opened"] == "Photo 3")
        }

        @Test(
            "A dead link opens nothing",
            arguments: ["quickpick://photo/13", "quickpick://photo/-9223372036854775808", "http://photo/3"])
        func wrong(target: String) throws {
            let record = try serve(stage: "placeholders", server: "127.0.0.1:1", [link(target)])
            #expect(record["launched-for"] == "url")
            #expect(record["opened"] == "nothing")
        }
    }
}
