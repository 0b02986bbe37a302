// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogRendering
import WatchdogReport

extension EndToEnd {
    @Suite("Hangs that end by themselves, in the daemon")
    struct ServeHangTests {
        private func compiled(in scratch: Scratch) throws -> String {
            let path = scratch["zoo"]
            try compileZoo(to: path)
            return path
        }

        private func app(_ program: String, milliseconds: Int, _ rest: String = "") -> String {
            """
            [App]
            ExecStart=\(program) hang_and_recover \(milliseconds)
            Enabled=no
            [Watchdog]
            Ping=100ms
            \(rest)
            [Restart]
            Policy=never
            """
        }

        @Test("An app that hangs repeatedly gets five reports, and the newest counts the rest")
        func repeats() throws {
            let service = try Service([
                "hang": "[App]\nExecStart=\(quoted(product("HangMain"))) --how sleep --after 0\n"
                    + "[Watchdog]\nUpdate=300ms\nPing=50ms\n[Restart]\nDelay=1ms\nMaxDelay=1ms\nLimit=infinity\n"
            ])
            try service.wait(for: "hang") { $0.restarts >= 12 }
            #expect(try service.end() == 0)
            let reports = try names(in: service.scratch["reports"]).map { name in
                try ReportCoding.decode(contents(of: service.scratch["reports/\(name)"]) ?? [])
            }
            // On a busy machine, a few may have starved, which is a different fault.
            let faults = Dictionary(grouping: reports) { Signature(of: $0) }
            #expect(faults.values.allSatisfy { $0.count <= 5 })
            let usual = try #require(faults.values.first { $0.count == 5 })
            let counts = usual.compactMap { $0.body.linux?.repeats?.count }
            #expect(counts.count == 1 && counts.allSatisfy { $0 >= 2 })
            #expect(service.program.text(.errors).contains(".ips: 2 more like it"))
        }

        @Test("A long hang gets a report, shown in status and events; a short or unwanted one is counted")
        func reports() throws {
            let scratch = try Scratch()
            let program = try compiled(in: scratch)
            let service = try Service(
                [
                    "long": app(program, milliseconds: 1_500),
                    "short": app(program, milliseconds: 400, "HangReports=10s"),
                    "unwanted": app(program, milliseconds: 1_500, "HangReports=off"),
                ], scratch: scratch)
            let watcher = try Program(
                [product("watchdogd"), "events", "--json", "--control", scratch["control"], "-l", "100"])
            for name in ["long", "short", "unwanted"] {
                let launch = try service.command("launch", "--no-wait", name)
                #expect(launch.code == 0, "\(launch.errors)")
            }
            let reported = try watcher.line("\"kind\":\"reported\"")
            #expect(reported.contains("\"app\":\"long\"") && reported.contains("\"report\":\""), "\(reported)")
            let incident = try #require(try service.wait(for: "long") { $0.lastIncident != nil }.lastIncident)
            #expect(incident.kind == .hang)
            #expect(incident.summary.hasPrefix("hung: the main loop did not answer for "))
            #expect(incident.event == "scene-update")
            let report = try ReportCoding.decode(contents(of: try #require(incident.report)) ?? [])
            // On a crowded machine, sampling may begin too late to see anything, and yields nothing.
            let isSeen = report.body.linux?.samples != nil
            #expect(
                incident.verdict?.contains("blocked") == true
                    && incident.verdict?.contains(isSeen ? "in clock_nanosleep" : "on something unknown") == true,
                "\(incident.verdict ?? "")")
            #expect(report.body.linux?.kind == .hang)
            #expect(report.body.isSimulated == 1)
            for name in ["long", "short", "unwanted"] {
                try service.wait(for: name) { $0.state == .stopped }
                let status = try service.command("status", name).output
                // A busy machine adds short ones.
                #expect(status.contains(#/Hangs: [1-9]\d*; longest/#), "\(status)")
            }
            #expect(try service.app("short").lastIncident == nil)
            #expect(try service.app("unwanted").lastIncident == nil)
            #expect(names(in: scratch["reports"]).count == 1)
            try watcher.send(2)
            try watcher.end()
            #expect(try service.end() == 0)
            #expect(service.program.text(.errors).contains("long[\(report.body.pid)] answered again after"))
        }
    }
}
