// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing

extension EndToEnd {
    @Suite("watchdogd simulate")
    struct SimulateCommandTests {
        private let scratch: Scratch
        private let file: String

        init() throws {
            scratch = try Scratch()
            file = scratch["HangMain.app"]
            try Data("[App]\nExecStart=/bin/true\n[Watchdog]\nPing=100ms\nUpdate=1s\n".utf8)
                .write(to: URL(filePath: file))
        }

        /// The part of `--json` that the tests read.
        private struct Result: Decodable {
            struct ComparedIncident: Decodable {
                let kind: String
                let watched: String
                let allowanceUSec: Int64
            }

            struct Row: Decodable {
                struct Count: Decodable {
                    let incidents: Int
                    let possibleIncidents: Int
                }

                let key: String
                let times: Int
                let counts: [Count]
            }

            let launches: Int
            let incidents: [ComparedIncident]
            let allowances: [Row]
        }

        private func simulate(_ arguments: [String]) throws -> (code: Int32, output: String, errors: String) {
            let program = try Program([product("watchdogd"), "simulate"] + arguments)
            let status = try program.end()
            return (status.code ?? -1, program.text(.output), program.text(.errors))
        }

        private func result(_ arguments: [String]) throws -> Result {
            let answer = try simulate(["--json"] + arguments)
            try #require(answer.code == 0, "\(answer.errors)")
            return try JSONDecoder().decode(Result.self, from: Data(answer.output.utf8))
        }

        @Test("The recorded trace contains a real kill, and other allowances change it")
        func killed() throws {
            let trace = scratch["hang.jsonl"]
            let ending = try supervise(
                ["--trace", trace, "--history", scratch["history.db"], "--ping", "100ms", "--update", "2s"],
                [product("HangMain"), "--how", "sleep", "--after", "0.5"])
            #expect(ending.exitCode == 137)
            let same = try result([file, "--trace", trace])
            #expect(same.launches == 1)
            #expect(same.incidents.map(\.kind) == ["both"])
            #expect(same.incidents.first?.watched == "scene-update")
            #expect(same.incidents.first?.allowanceUSec == 1_000_000)
            let update = try #require(same.allowances.first { $0.key == "Update" })
            #expect(update.times > 1)
            #expect(update.counts.map(\.incidents) == [1, 1, 1, 1, 0])
            #expect(update.counts.last?.possibleIncidents == 1)
            #expect(try result([file, "--trace", trace, "--set", "Update=30s"]).incidents.map(\.kind) == ["past"])
            // The launch history and the crash log contain the same kill.
            let report = try #require(ending.reportPaths.first)
            for other in [scratch["history.db"], report] {
                let result = try result([file, "--trace", other])
                #expect(result.incidents.map(\.kind) == ["both"], "\(other)")
                #expect(result.incidents.first?.watched == "scene-update")
            }
            let text = try simulate([file, "--trace", trace]).output
            #expect(text.contains("1 kill would stay:"))
            #expect(text.split(separator: "\n").allSatisfy { $0.count < 80 })
        }

        @Test("A healthy run has no kill, and its trace has a first and a last line")
        func healthy() throws {
            let trace = scratch["healthy.jsonl"]
            let ending = try supervise(
                ["--trace", trace, "--ping", "100ms", "--update", "30s", "--for", "2s"], [product("HealthyApp")])
            #expect(ending.exitCode == 0)
            let result = try result([file, "--trace", trace, "--set", "Update=30s", "--set", "Launch=1min"])
            #expect(result.incidents.isEmpty)
            #expect(Set(result.allowances.map(\.key)) == ["Launch", "Update", "Terminate"])
            let lines = try String(contentsOf: URL(filePath: trace), encoding: .utf8).split(separator: "\n")
            #expect(lines.first?.hasPrefix("{\"watchdogdTrace\":1,\"app\":\"HealthyApp\",") == true)
            #expect(lines.last?.contains("\"event\":\"exited\",\"code\":0}") == true)
        }

        @Test(
            "An unusable history is named, with a remedy",
            arguments: [
                ("/etc/passwd", 65, "/etc/passwd:1: is not a trace: use a file of 'watchdogd run --trace'"),
                ("/nonexistent", 66, "cannot open /nonexistent: No such file or directory"),
                ("/dev/zero", 66, "cannot read /dev/zero: not a regular file"),
            ])
        func unusable(path: String, code: Int32, words: String) throws {
            let answer = try simulate([file, "--trace", path])
            #expect(answer.code == code)
            #expect(answer.errors.contains(words), "\(answer.errors)")
        }

        @Test("A wrong setting is an error of the option")
        func wrongSetting() throws {
            let answer = try simulate([file, "--trace", "/dev/null", "--set", "Updat=5s"])
            #expect(answer.code == 65)
            #expect(
                answer.errors.contains("--set: error: unknown key \"Updat\" in [Watchdog]; did you mean \"Update\"?"))
            #expect(try simulate([file]).code == 64)
        }

        @Test("A trace that cannot be written ends the run before the launch")
        func unwritable() throws {
            let program = try Program(
                [product("watchdogd"), "run", "--trace", "/nonexistent/t", "--", "/usr/bin/touch", scratch["launched"]])
            #expect(try program.end().code == 73)
            #expect(program.text(.errors).contains("--trace: cannot open /nonexistent/t"))
            #expect(scratch.read("launched") == nil)
        }
    }
}
