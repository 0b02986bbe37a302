// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogControl

extension EndToEnd {
    @Suite("watchdogd serve as the entry point of a container")
    struct ServeContainerTests {
        private struct Line: Decodable {
            let time, level, message: String
            let app, kind, event, verdict, incident, report: String?
            let pid: Int32?
        }

        private static let hanging = """
            [App]
            ExecStart=\(quoted(product("HangMain"))) --how sleep --after 0.2
            StandardOutput=null
            [Watchdog]
            Update=700ms
            Ping=100ms
            [Restart]
            Policy=never

            """

        private static func shell(_ script: String, terminate: String = "5s") -> String {
            """
            [App]
            ExecStart=/bin/sh -c '\(script)'
            StandardOutput=null
            [Watchdog]
            Readiness=none
            Terminate=\(terminate)
            [Restart]
            Policy=never

            """
        }

        private func lines(of service: Service) throws -> [Line] {
            try service.program.text(.errors).split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            }
        }

        @Test("As JSON, each message is one object, and an incident names its app and its report")
        func json() throws {
            let service = try Service(
                [
                    "hangs": Self.hanging, "sleeps": Self.shell("exec sleep 1000"),
                    "bad": "[App]\nExecStrat=/bin/true\n",
                ],
                options: ["--log-format", "json", "--verbose"])
            let incident = try service.wait(for: "hangs") { $0.lastIncident?.report != nil }.lastIncident
            #expect(try service.end() == 0)
            let lines = try lines(of: service)
            let killed = lines.filter { $0.kind == "killed" }
            #expect(killed.count == 1)
            #expect(killed.first?.app == "hangs" && killed.first?.level == "error")
            #expect(killed.first?.event == "scene-update" && killed.first?.pid != nil)
            #expect(killed.first?.report == incident?.report && killed.first?.verdict == incident?.verdict)
            #expect(killed.first?.message.hasSuffix("killed: did not answer within 700 ms (0x8badf00d)") == true)
            #expect(lines.contains { $0.kind == "ready" && $0.app == "sleeps" && $0.level == "info" })
            #expect(lines.contains { $0.level == "error" && $0.message.contains("unknown key \"ExecStrat\"") })
            #expect(lines.allSatisfy { $0.time.hasSuffix("Z") })
        }

        @Test("A daemon that cannot serve reports that in an object")
        func refusal() throws {
            let scratch = try Scratch()
            let places = [
                "--config", scratch["none"], "--control", scratch["control"], "--reports", scratch["reports"],
            ]
            let program = try Program(
                [product("watchdogd"), "serve", "--user", "--log-format", "json", "--no-history"] + places,
                environment: testEnvironment(), directory: scratch.path)
            #expect(try program.end().code == 66)
            let line = try JSONDecoder().decode(Line.self, from: Data(program.text(.errors).utf8))
            #expect(line.level == "error" && line.message.contains(scratch["none"]))
        }

        @Test("The termination message is the last failure of any app, written immediately")
        func terminationMessage() throws {
            let scratch = try Scratch()
            let service = try Service(
                [
                    "hangs": Self.hanging, "exits": Self.shell("exit 3"), "sleeps": Self.shell("exec sleep 1000"),
                    "stays": Self.shell("exec sleep 1000"),
                ],
                options: ["--termination-message", scratch["message"]], scratch: scratch)
            let report = try service.wait(for: "hangs") { $0.lastIncident?.report != nil }.lastIncident?.report
            #expect(eventually { scratch.exists("message") })
            let first = try #require(scratch.read("message")).split(separator: "\n").map(String.init)
            #expect(first.first?.hasPrefix("hangs[") == true)
            #expect(first.first?.hasSuffix("] killed: did not answer within 700 ms (0x8badf00d)") == true, "\(first)")
            #expect(first.dropFirst().first?.hasPrefix("Time: ") == true)
            #expect(first.contains("Event: scene-update"))
            #expect(first.last == report.map { "Report: \($0)" })
            let pid = try #require(try service.wait(for: "sleeps") { $0.state == .running }.pid)
            kill(pid, SIGSEGV)
            #expect(eventually { scratch.read("message")?.hasPrefix("sleeps[\(pid)] was killed by SIGSEGV") == true })
            try service.wait(for: "stays") { $0.state == .running }
            #expect(try service.end() == 0)
            #expect(scratch.read("message")?.hasPrefix("sleeps[\(pid)] ") == true, "an orderly end is no failure")
        }

        @Test(
            "An allowance that exceeds the grace period causes a warning, at the start and after a reload",
            arguments: [
                (["--grace-period", "3s"], [:], true), (["--grace-period", "3001ms"], [:], false),
                ([], ["WATCHDOGD_GRACE_PERIOD": "3s"], true),
            ] as [([String], [String: String], Bool)])
        func gracePeriod(_ options: [String], _ variables: [String: String], _ warns: Bool) throws {
            let service = try Service(
                ["one": Self.shell("exec sleep 1000", terminate: "1s")], options: options, environment: variables)
            try service.wait(for: "one") { $0.state == .running }
            try service.write(Self.shell("exec sleep 1000", terminate: "900ms"), to: "short")
            try service.write(Self.shell("exec sleep 1000", terminate: "1500ms"), to: "two")
            // Its lines are wrapped if the path's length requires it.
            let answer = try service.command("reload").output.split(whereSeparator: \.isWhitespace)
                .joined(separator: " ")
            #expect(try service.end() == 0)
            let warning = "one.app:6:1: warning: Terminate: the grace period (3 s) is not longer than the terminate"
            let told = service.program.text(.errors).split(separator: "\n").filter { $0.contains("grace period") }
            #expect(told.count == (warns ? 1 : 0), "\(told)")
            #expect(told.allSatisfy { $0.contains(warning) }, "\(told)")
            #expect(answer.contains("two.app:6:1: warning: Terminate: the grace period"), "\(answer)")
            #expect(!answer.contains("short.app"))
        }
    }
}
