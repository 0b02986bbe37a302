// SPDX-License-Identifier: Apache-2.0

import Testing

extension EndToEnd {
    @Suite("Sample apps launched for an event")
    struct StoryEventTests {
        /// Runs commands on QuickPick as a daemon's app, which is stopped before the first one.
        ///
        /// - Parameter losing: the end of the message of commands whose event the app loses; nil if they succeed.
        private func serve(
            stage: String, server: String, losing message: String? = nil, _ commands: [[String]]
        ) throws -> StoryRecord {
            let scratch = try Scratch()
            let command = try StoryApp.quickPick.command(["--stage", stage, "--server", server], in: scratch)
            let words = command.map(quoted).joined(separator: " ")
            let service = try Service(["photos": "[App]\nEnabled=no\nExecStart=\(words)\n"], scratch: scratch)
            for command in commands {
                let answer = try service.command(command)
                #expect(answer.code == (message == nil ? 0 : 1), "\(command): \(answer.errors)")
                if let message { #expect(answer.errors.hasSuffix(message)) }
            }
            let status = try service.command("status", "photos").output
            if commands.first?.first == "event" {
                let fate = message == nil ? "handled in" : "lost, because nothing in the app listens for it"
                let end = status.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                #expect(end.contains("bytes of payload: \(fate)"), "\(status)")
            }
            #expect(!status.contains("quickpick://photo"))
            #expect(try service.command("terminate", "photos").code == 0)
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
            let record = try serve(
                stage: stage, server: network.address,
                losing: "photos lost the event url: nothing in it listens for that\n", [link("quickpick://photo/3")])
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
