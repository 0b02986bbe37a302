// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux

extension EndToEnd {
    @Suite("The launch history")
    struct HistoryTests {
        private struct Reply: Decodable {
            struct Group: Decodable {
                let label: String
                let count: Int
                let notReady: Int
                let p50USec: Int?
            }

            struct Version: Decodable, Equatable {
                let buildID: String
                let package: String
            }

            struct Phase: Decodable {
                let name: String
                let count: Int
                let p50USec: Int?
            }

            let groups: [Group]
            let phases: [Phase]
            let moments: [Phase]
            let firstVersion: Version?
            let lastVersion: Version?
        }

        private func run(_ arguments: [String]) throws -> (code: Int32?, output: String, errors: String) {
            let program = try Program([product("watchdogd")] + arguments)
            let code = try program.end().code
            return (code, program.text(.output), program.text(.errors))
        }

        private func launches(of app: String, by key: String, in scratch: Scratch) throws -> Reply {
            let result = try run(
                ["launches", app, "--by", key, "--json", "--history", scratch["history.db"]])
            guard result.code == 0 else { throw Failure(result.errors) }
            return try JSONDecoder().decode(Reply.self, from: Data(result.output.utf8))
        }

        private static func app(_ command: String) -> String {
            "[App]\nExecStart=\(command)\nStandardOutput=null\n"
        }

        @Test("Launches of two versions of a program are counted by version and by cause, even across a restart")
        func versions() throws {
            let first = try Service(["app": Self.app(quoted(product("HealthyApp")))])
            try first.wait(for: "app") { $0.state == .running }
            #expect(try first.command("restart", "app").code == 0)
            try first.wait(for: "app") { $0.state == .running }
            let status = try first.command("status", "app").output
            #expect(status.contains("(channel); executed after "))
            #expect(status.contains(", hello "))
            let metrics = try first.command("metrics").output
            let family = "watchdogd_app_launch_phase_duration_seconds_count"
            #expect(metrics.contains("\(family){app=\"app\",phase=\"hello\"} 2\n"))
            try first.write(Self.app("/bin/sh -c 'exit 3'") + "[Restart]\nPolicy=never\n", to: "app")
            #expect(try first.command("reload").code == 0)
            try first.wait(for: "app") { $0.state == .stopped || $0.state == .failed }
            #expect(try first.end() == 0)

            let second = try Service(
                ["app": Self.app(quoted(product("SlowLaunch")) + " --seconds 0.1")], scratch: first.scratch)
            try second.wait(for: "app") { $0.state != .launching }
            #expect(try second.end() == 0)

            let byVersion = try launches(of: "app", by: "version", in: first.scratch)
            #expect(byVersion.groups.map(\.count).reduce(0, +) >= 4)
            #expect(byVersion.groups.count >= 3)
            #expect(byVersion.groups.first?.count == 2)
            #expect(byVersion.groups.first?.notReady == 0)
            #expect(byVersion.groups.first?.p50USec ?? 0 > 0)
            for name in ["exec", "hello", "ready"] {
                let phase = try #require(byVersion.phases.first { $0.name == name }, "\(name)")
                #expect(phase.count >= 2, "\(name)")
            }
            #expect(byVersion.phases.first?.p50USec ?? 0 > 0)
            #expect(byVersion.firstVersion?.buildID.isEmpty == false)
            #expect(byVersion.firstVersion != byVersion.lastVersion)
            let byCause = try launches(of: "app", by: "cause", in: first.scratch)
            #expect(Set(byCause.groups.map(\.label)).isSuperset(of: ["start", "restart"]))

            let text = try run(["launches", "--history", first.scratch["history.db"]])
            #expect(text.code == 0)
            #expect(text.output.contains("never ready"))
            let unknown = try run(["launches", "appp", "--history", first.scratch["history.db"]])
            #expect(unknown.code == 66)
            #expect(unknown.errors.contains("there is no launch of appp in the history; did you mean app?"))
        }

        @Test("A user's history is readable without a session, and names in it cannot control the terminal")
        func withoutSession() throws {
            let scratch = try Scratch()
            let home = scratch["home"]
            let text = home + "/.local/state/watchdogd/history.db"
            #expect(DaemonPlaces.historyPath(of: .user, environment: ["HOME": home]) == text)
            #expect(throws: RunError.self) { try DaemonPlaces(scope: .user, environment: ["HOME": home]) }
            let history = scratch["history.db"]
            // At exit, a run waits for the disk only for a moment.
            let idle = try Program(
                [product("watchdogd"), "run", "--quiet", "--readiness", "none", "--history", history]
                    + ["--name", "x\u{1b}[31m", "--", "/bin/sleep", "1000"])
            #expect(try eventually { try run(["launches", "x\u{1b}[31m", "--history", history]).code == 0 })
            try idle.send(SIGTERM)
            #expect(try idle.end().code == 143)
            let unknown = try run(["launches", "x\u{1b}[32m", "--history", history])
            #expect(unknown.code == 66)
            #expect(unknown.errors.contains("did you mean x\\x1b[31m?"), "\(unknown.errors)")
            #expect(!unknown.errors.contains("\u{1b}"))
            #expect(try run(["launches", "--history", ""]).code == 64)
        }

        @Test(
            "A first frame and a first use after READY=1 can be expected, kept and exported; the notify socket suffices"
        )
        func lateUse() throws {
            let scratch = try Scratch()
            let history = scratch["history.db"]
            let script = """
                import os, socket, time
                s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                s.connect(os.environ["NOTIFY_SOCKET"].replace("@", "\\0", 1))
                for word in (b"READY=1", b"FIRST_FRAME=1", b"USEFUL=1"):
                    s.send(word)
                    time.sleep(0.1)
                """
            let result = try run([
                "run", "--history", history, "--name", "app", "--expect", "first-frame within 60s", "--expect",
                "useful within 60s", "--", "/usr/bin/python3", "-c", script,
            ])
            #expect(result.code == 0, "\(result.errors)")
            let reply = try launches(of: "app", by: "version", in: scratch)
            #expect(reply.moments.map(\.name) == ["first-frame", "useful"])
            #expect(reply.moments.map(\.count) == [1, 1])
            let ready = try #require(reply.groups.first?.p50USec)
            for moment in reply.moments { #expect(moment.p50USec ?? 0 > ready, "\(moment.name)") }
            let export = try run(["report", "export", "--format", "metrickit-metrics", "--history", history])
            #expect(export.output.contains("\"histogrammedExtendedLaunch\""))
        }

        @Test("Exits and launches are exported as MetricKit's metrics")
        func metrics() throws {
            let service = try Service([
                "app": Self.app("/bin/sh -c 'kill -SEGV $$$$'")
                    + "[Watchdog]\nReadiness=none\n[Restart]\nPolicy=never\n"
            ])
            try service.wait(for: "app") { $0.state == .stopped || $0.state == .failed }
            #expect(try service.end() == 0)
            let result = try run([
                "report", "export", "--format", "metrickit-metrics", "--history",
                service.scratch["history.db"],
            ])
            #expect(result.code == 0)
            #expect(result.output.contains("\"histogrammedTimeToFirstDrawKey\""))
            #expect(result.output.contains("\"cumulativeBadAccessExitCount\" : 1"))
            let wrong = try run(["report", "export", "--format", "html", "--app", "app"])
            #expect(wrong.code == 64)
        }

        @Test(
            "A watchdogd killed during a write leaves a readable history, and a damaged one is set aside"
        )
        func killed() throws {
            let service = try Service([
                "app": Self.app("/bin/true") + "[Watchdog]\nReadiness=none\n[Restart]\nPolicy=always\nDelay=1ms\n"
            ])
            let history = service.scratch["history.db"]
            #expect(try eventually { try run(["launches", "app", "--history", history]).code == 0 })
            try service.program.send(SIGKILL)
            _ = try service.program.end()
            let before = try launches(of: "app", by: "cause", in: service.scratch)
            #expect(before.groups.map(\.count).reduce(0, +) >= 1)

            // Into the tables, after the header.
            let file = try OwnedDescriptor(opening: history, flags: O_RDWR)
            let noise = [UInt8](repeating: 0x5A, count: 4_096)
            unlink("\(history)-wal")
            unlink("\(history)-shm")
            #expect(pwrite(file.number, noise, noise.count, 0) == noise.count)
            let next = try Service(scratch: service.scratch)
            try next.program.line("the launch history is damaged", on: .errors)
            #expect(access("\(history).damaged-1", F_OK) == 0)
            #expect(try next.end() == 0)
        }

        @Test(
            "A history that cannot be read is one sentence and stays as it is; a run goes on without it",
            arguments: [
                (
                    "PRAGMA application_id = \(0x0bad_f00d); PRAGMA user_version = 99; CREATE TABLE launch (app TEXT)",
                    "format 99"
                ),
                ("CREATE TABLE bookmark (name TEXT)", "not a history of watchdogd"),
                (nil, "malformed"),
            ] as [(String?, String)])
        func unusable(change: String?, words: String) throws {
            let scratch = try Scratch()
            let history = scratch["history.db"]
            if let change {
                let database = try Program(["/usr/bin/python3", "-c", Self.changing, history, change])
                try #require(try database.end().code == 0, "\(database.text(.errors))")
            } else {
                // As if the disk had been full, or the machine had lost its power: less than a page of it.
                let beginning = "SQLite format 3\u{0}\u{10}\u{0}\u{1}\u{1}\u{0}\u{40}\u{20}\u{20}"
                try scratch.write(beginning, to: "history.db")
            }
            let before = contents(of: history)
            let shown = try run(["launches", "--history", history])
            #expect(shown.code == 65, "\(shown)")
            #expect(shown.output == "")
            #expect(shown.errors.split(separator: "\n").count == 1, "\(shown.errors)")
            #expect(shown.errors.contains(words), "\(shown.errors)")
            #expect(contents(of: history) == before)

            let launched = try run([
                "run", "--reports", "none", "--readiness", "none", "--history", history, "--", "/bin/true",
            ])
            #expect(launched.code == 0, "\(launched.errors)")
            #expect(launched.errors.split(separator: "\n").count == 1, "\(launched.errors)")
            // What is damaged is set aside; what is another's is not touched.
            #expect(contents(of: change == nil ? "\(history).damaged-1" : history) == before)
        }

        private static let changing = """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1])
            database.executescript(sys.argv[2])
            """

        @Test("--no-history keeps no history; a history that cannot be written does not prevent a launch")
        func without() throws {
            let app = ["app": "[App]\nExecStart=/bin/sleep 1000\n[Watchdog]\nReadiness=none\n"]
            let silent = try Service(app, options: ["--no-history"])
            try silent.wait(for: "app") { $0.state == .running }
            #expect(try silent.end() == 0)
            #expect(!silent.scratch.exists("history.db"))
            let service = try Service(app, options: ["--history", "/proc/nowhere/history.db"])
            try service.wait(for: "app") { $0.state == .running }
            try service.program.line("launches are not recorded", on: .errors)
            #expect(try service.end() == 0)
        }
    }
}
