// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux

extension EndToEnd {
    @Suite("watchdogd run --app")
    struct RunAppTests {
        private func run(
            _ arguments: [String], in scratch: Scratch
        ) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program(
                [product("watchdogd"), "run", "--reports", scratch["reports"], "--config", scratch.path] + arguments)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        @Test("An app runs as its file specifies, after its preparations, and the run has its exit code")
        func runs() throws {
            let scratch = try Scratch()
            try scratch.write(
                """
                [App]
                ExecStartPre=/bin/echo before
                Environment=WORD=hello
                ExecStart=/bin/sh -c 'echo $WORD; exit 5'
                \(unhurriedSettings)
                Readiness=none
                """, to: "web.app")
            let answer = try run(["--app", "web"], in: scratch)
            #expect(answer.code == 5, "\(answer.errors)")
            #expect(answer.output == "before\nhello\n")
        }

        @Test("An instance runs from its template")
        func instance() throws {
            let scratch = try Scratch()
            try scratch.write("[App]\nExecStart=/bin/echo %i\n\(unhurriedSettings)Readiness=none\n", to: "web@.app")
            #expect(try run(["--app", "web@blue"], in: scratch).output == "blue\n")
        }

        @Test("A missing app gets the nearest name, an invalid one every mistake, and a repeated setting an error")
        func mistakes() throws {
            let scratch = try Scratch()
            try scratch.write("[App]\nExecStrat=/bin/true\n", to: "photos.app")
            let missing = try run(["--app", "photo"], in: scratch)
            #expect(missing.code == 66)
            #expect(missing.errors.contains("there is no app \"photo\" in \(scratch.path); did you mean \"photos\"?"))
            let wrong = try run(["--app", "photos"], in: scratch)
            #expect(wrong.code == 65)
            #expect(wrong.errors.contains("photos.app:2:1: error: unknown key \"ExecStrat\""))
            let twice = try run(["--app", "photos", "--update", "2min"], in: scratch)
            #expect(twice.code == 64)
            #expect(twice.errors.contains("--update and --app cannot be combined"))
            let both = try run(["--app", "photos", "--", "true"], in: scratch)
            #expect(both.code == 64)
        }

        @Test("A failing command before the program is reported, and the program does not run")
        func preparationFails() throws {
            let scratch = try Scratch()
            try scratch.write("[App]\nExecStartPre=/bin/false\nExecStart=/bin/echo never\n", to: "web.app")
            let answer = try run(["--app", "web"], in: scratch)
            #expect(answer.code == 125)
            #expect(answer.output == "")
            // An ordinary user first gets a line about the missing cgroup.
            let last = answer.errors.split(separator: "\n").last
            #expect(last == "watchdogd: web was not launched: ExecStartPre: /bin/false exited with code 1")
        }
    }
}
