// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    /// Expectations of users of systemctl, journalctl and docker.
    @Suite("Habits from other tools")
    struct HabitTests {
        private static let escape = "\u{1b}["

        private static func app(_ command: String, _ lines: String = "") -> String {
            "[App]\nExecStart=\(command)\n\(lines)[Watchdog]\nReadiness=none\n"
        }

        @Test("logs explains why it has no lines")
        func emptyLogs() throws {
            let scratch = try Scratch()
            let service = try Service(
                [
                    "lost": Self.app("/bin/sleep 100", "StandardOutput=null\n"),
                    "quiet": Self.app("/bin/sleep 100", "StandardOutput=append:\(scratch["quiet.log"])\n"),
                ], scratch: scratch)
            for name in ["lost", "quiet"] { try service.wait(for: name) { $0.state == .running } }
            let lost = try service.command("logs", "lost")
            #expect(lost.code == 69 && lost.output == "")
            #expect(
                lost.errors
                    == "watchdogd: lost writes to null, which cannot be read back; set StandardOutput= in the app's file\n"
            )
            let quiet = try service.command("logs", "quiet")
            #expect(quiet.code == 0 && quiet.output == "")
            let path = scratch["quiet.log"]
            #expect(quiet.errors == "watchdogd: quiet has written nothing to \(path) since its latest launch\n")
            let since = try service.command("logs", "--since", "1h", "quiet")
            #expect(since.code == 64)
            #expect(
                since.errors
                    == "watchdogd: the output of quiet is in \(path), whose lines have no time; use --lines N\n")
            #expect(try service.end() == 0)
        }

        @Test("status without an app shows all, and sample accepts the name of an app")
        func withoutName() throws {
            let service = try Service(["one": Self.app("/bin/sleep 100"), "two": Self.app("/bin/sleep 200")])
            for name in ["one", "two"] { try service.wait(for: name) { $0.state == .running } }
            let status = try service.command("status")
            #expect(status.code == 0 && status.output.hasPrefix("watchdogd "))
            for name in ["one", "two"] {
                #expect(status.output.split(separator: "\n").contains { $0.contains(name) && $0.contains("running") })
            }
            let sample = try service.command("sample", "--for", "100ms", "two")
            #expect(sample.code == 0, "\(sample.errors)")
            #expect(sample.output.contains("Call tree") && sample.output.contains("nanosleep"), "\(sample.output)")
            let unknown = try service.command("sample", "--for", "100ms", "tow")
            #expect(unknown.code == 66)
            #expect(unknown.errors.contains("tow"), "\(unknown.errors)")
            #expect(try service.end() == 0)
        }

        @Test(
            "The other daemon is suggested if only that one runs",
            .enabled(if: access(ControlPath.system.path, F_OK) != 0, "the machine's daemon runs"))
        func otherDaemon() throws {
            let scratch = try Scratch()
            _ = try scratch.makeDirectory("apps")
            var environment = testEnvironment()
            environment["XDG_RUNTIME_DIR"] = try scratch.makeDirectory("runtime", mode: 0o700)
            environment["HOME"] = scratch.path
            let list = [product("watchdogd"), "list", "--system"]
            let before = try Program(list, environment: environment)
            #expect(try before.end().code == 69)
            #expect(!before.text(.errors).contains("--user"))
            let daemon = try Program(
                [product("watchdogd"), "serve", "--user", "--config", scratch["apps"], "--no-history", "--verbose"],
                environment: environment)
            #expect(
                try eventually {
                    let own = try Program([product("watchdogd"), "list", "--user"], environment: environment)
                    return try own.end().code == 0
                })
            let after = try Program(list, environment: environment)
            #expect(try after.end().code == 69)
            #expect(after.text(.errors).contains("or use --user for the daemon of this user"), "\(after.text(.errors))")
            try daemon.send(SIGTERM)
            #expect(try daemon.end().code == 0)
        }

        @Test("Colored output reaches a pipe only with --color always, in each command that has it")
        func colors() throws {
            let service = try Service([
                "fails": Self.app("/bin/sh -c 'kill -SEGV $$$$'") + "[Restart]\nPolicy=never\n",
                "works": Self.app("/bin/sleep 100"),
            ])
            try service.wait(for: "fails") { $0.state == .stopped && $0.lastIncident?.report != nil }
            let report = try #require(try service.app("fails").lastIncident?.report)
            func isColored(_ color: String, _ words: [String]) throws -> Bool {
                let program = try Program([product("watchdogd"), "--color", color] + words)
                let code = try program.end().code
                #expect(code == 0, "\(words): \(program.text(.errors))")
                return program.text(.output).contains(Self.escape)
            }
            let control = ["--control", service.scratch["control"]]
            for words in [
                ["events", "--no-follow"] + control, ["list"] + control, ["status", "works"] + control,
                ["status"] + control, ["top", "--count", "1"] + control, ["report", "show", report],
                ["report", "explain", report],
            ] {
                #expect(try isColored("always", words), "\(words)")
                #expect(try !isColored("never", words), "\(words)")
                #expect(try !isColored("auto", words), "\(words)")
            }
            #expect(try service.end() == 0)
        }

        @Test("WATCHDOGD_REPORTS also sets the folder for run")
        func reportsFolder() throws {
            let scratch = try Scratch()
            var environment = testEnvironment()
            environment["WATCHDOGD_REPORTS"] = scratch["kept"]
            let run = try Program(
                [product("watchdogd"), "run", "--name", "crashes", "--", "/bin/sh", "-c", "kill -SEGV $$"],
                environment: environment)
            #expect(try run.end().code == 139)
            let list = try Program(
                [product("watchdogd"), "report", "list", "--json"], environment: environment)
            #expect(try list.end().code == 0)
            #expect(list.text(.output).contains(scratch["kept"] + "/crashes-"), "\(list.text(.output))")
        }
    }
}
