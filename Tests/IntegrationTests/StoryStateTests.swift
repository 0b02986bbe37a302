// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux

extension EndToEnd {
    @Suite("Sample apps that restore their state")
    struct StoryStateTests {
        /// Several visits to QuickPick, with one folder for its files and one for its state.
        private struct Visits {
            let scratch: Scratch
            let environment: [String: String]
            private let command: [String]

            init() throws {
                scratch = try Scratch()
                environment = ["XDG_STATE_HOME": scratch["state"]]
                command = try StoryApp.quickPick.command(["--server", "127.0.0.1:1"], in: scratch)
            }

            func command(_ arguments: [String]) -> [String] { command + arguments }

            /// One visit without a supervisor, which may touch a photo, and ends when everything is done.
            func visit(_ arguments: [String] = ["--restore"], touch: String? = nil) throws -> StoryRecord {
                let touches = try scratch.write(touch.map { "1ms \($0)\n" } ?? "", to: "touches")
                var variables = testEnvironment()
                for (name, value) in environment { variables[name] = value }
                let program = try Program(
                    command(arguments + ["--stage", "6", "--script", touches, "--quit-when", "complete"]),
                    environment: variables, directory: scratch.path)
                try #require(try program.end().code == 0, "\(program.text(.errors))")
                return try StoryRecord(scratch)
            }
        }

        @Test("QuickPick opens the previously open photo in its first frame")
        func restored() throws {
            let visits = try Visits()
            let first = try visits.visit(touch: "select 3")
            #expect(first["restored"] == nil)
            #expect(first["opened"] == "Photo 3")
            let second = try visits.visit(["--restore", "--frames", visits.scratch["frames"]])
            #expect(second["restored"] == "photo 3")
            #expect(second["opened"] == "Photo 3")
            #expect(visits.scratch.read("frames/frame-0001.txt")?.contains("Photo 3, ESC goes back") == true)
            // A user who goes back wants to begin with the list.
            #expect(try visits.visit(touch: "back")["restored"] == "photo 3")
            #expect(try visits.visit()["restored"] == nil)
        }

        @Test("Without --restore, QuickPick neither saves nor uses state")
        func notRestored() throws {
            let visits = try Visits()
            #expect(try visits.visit([], touch: "select 3")["opened"] == "Photo 3")
            #expect(!visits.scratch.exists("state"))
            _ = try visits.visit(touch: "select 3")
            let last = try visits.visit([])
            #expect(last["restored"] == nil)
            #expect(last["opened"] == nil)
        }

        @Test("A launch that is killed discards the state, so that it cannot kill the next one")
        func discarded() throws {
            let visits = try Visits()
            _ = try visits.visit(touch: "select 3")
            #expect(names(in: visits.scratch["state/QuickPick"]) == ["state"])
            let service = try PhotoService()
            let killed = try Supervision(
                ["--time-scale", StoryApp.timeScale, "--expect", "0x8badf00d:scene-create"],
                visits.command(["--stage", "1", "--restore", "--server", service.address]),
                environment: visits.environment, scratch: visits.scratch
            ).end()
            #expect(killed.exitCode == 0, "\(killed.errors)")
            #expect(names(in: visits.scratch["state/QuickPick"]) == ["state.launching"])
            let next = try visits.visit()
            #expect(next["restored"] == nil)
            #expect(next["opened"] == nil)
            #expect(names(in: visits.scratch["state/QuickPick"]) == [])
        }
    }
}
