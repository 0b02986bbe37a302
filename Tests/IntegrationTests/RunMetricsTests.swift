// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    @Suite("Metrics of a run")
    struct RunMetricsTests {
        private static let running = #"watchdogd_app_state{app="shop",state="running"}"#

        private let scratch: Scratch

        init() throws { scratch = try Scratch() }

        /// A service that runs until it is asked to exit.
        private func serve(_ options: String...) throws -> Supervision {
            try Supervision(
                unhurried(["--name", "shop", "--readiness", "none", "--control", scratch["control"]] + options),
                ["/bin/sleep", "600"], scratch: scratch)
        }

        /// The command's output; empty while the run does not answer.
        private func told() throws -> [String: Double] {
            let program = try Program([product("watchdogd"), "metrics", "--control", scratch["control"]])
            return try program.end().code == 0 ? seriesValues(in: program.text(.output)) : [:]
        }

        @Test("A hang that is killed is counted while the command for incidents runs")
        func killed() throws {
            let hook = "\(shellWord(product("watchdogd"))) metrics --control \(scratch["control"]) > \(scratch["told"])"
            let run = try Supervision(
                ["--update", "600ms", "--ping", "50ms", "--control", scratch["control"], "--on-incident", hook],
                [product("HangMain"), "--how", "sleep", "--after", "0.5"], scratch: scratch)
            #expect(try run.end().exitCode == 137)
            let values = seriesValues(in: try #require(scratch.read("told")))
            let prefix = "watchdogd_app_"
            #expect(values[prefix + #"incidents_total{app="HangMain",event="scene-update",action="killed"}"#] == 1)
            #expect(values[prefix + #"incidents_total{app="HangMain",event="process-launch",action="killed"}"#] == 0)
            #expect(values[prefix + #"launches_total{app="HangMain"}"#] == 1)
            #expect(values[prefix + #"allowance_seconds{app="HangMain",allowance="update"}"#] == 0.6)
            #expect(try #require(values[prefix + #"ping_duration_seconds_count{app="HangMain"}"#]) > 0)
            #expect(try #require(values[prefix + #"last_incident_time_seconds{app="HangMain"}"#]) > 1.7e9)
        }

        @Test("A series without an event is 0 from the start, with the labels of the run")
        func zeros() throws {
            let run = try serve("--app-version", "1.2")
            var values: [String: Double] = [:]
            let isRunning = try eventually {
                values = try told()
                return values[Self.running] == 1
            }
            #expect(isRunning)
            let prefix = "watchdogd_app_"
            #expect(values[prefix + #"info{app="shop",version="1.2",readiness="none",enforce="kill"}"#] == 1)
            #expect(values[prefix + #"launches_total{app="shop"}"#] == 1)
            #expect(values[prefix + #"incidents_total{app="shop",event="scene-update",action="killed"}"#] == 0)
            #expect(values[prefix + #"terminations_total{app="shop",cause="watchdog"}"#] == 0)
            #expect(values[prefix + #"hang_duration_seconds_count{app="shop"}"#] == 0)
            #expect(values[prefix + #"last_incident_time_seconds{app="shop"}"#] == 0)
            #expect(try #require(values[prefix + #"start_time_seconds{app="shop"}"#]) > 1.7e9)
            #expect(values["watchdogd_apps"] == 1)
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 143)
        }

        @Test(
            "A scrape has the series of the command, and nobody listens at the port afterwards",
            .enabled(if: isInstalled("python3"), "needs python3"))
        func scrape() throws {
            let port = try freePort()
            let run = try serve("--metrics", "\(port)")
            #expect(try eventually { try told()[Self.running] == 1 })
            let client = try Program(["python3", "-c", MetricsTests.reader, "\(port)", "1", "read"])
            #expect(try client.end().code == 0)
            let answer = client.text(.output)
            #expect(answer.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"))
            let body = try #require(answer.split(separator: "\r\n\r\n", maxSplits: 1).last)
            // Values read from a process may change between the two.
            let isCounted = { (name: String) in !name.contains(#/app_info|cpu_seconds|memory_bytes/#) }
            let scraped = Set(seriesValues(in: String(body)).keys.filter(isCounted))
            #expect(scraped == Set(try told().keys.filter(isCounted)))
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 143)
            _ = try TextServer.listen(on: NetworkAddress(parsing: "127.0.0.1:\(port)"))
        }

        @Test("A run continues from the counts that the run before has kept, its kill included")
        func kept() throws {
            let counts = scratch["counts"]
            let first = try Supervision(
                [
                    "--name", "shop", "--update", "600ms", "--ping", "50ms", "--control", scratch["control"],
                    "--keep-counts", counts,
                ],
                [product("HangMain"), "--how", "sleep", "--after", "0"])
            #expect(try first.end().exitCode == 137)
            let second = try serve("--keep-counts", counts)
            var values: [String: Double] = [:]
            #expect(
                try eventually {
                    values = try told()
                    return values[Self.running] == 1
                })
            let prefix = "watchdogd_app_"
            #expect(values[prefix + #"incidents_total{app="shop",event="scene-update",action="killed"}"#] == 1)
            #expect(values[prefix + #"terminations_total{app="shop",cause="watchdog"}"#] == 1)
            #expect(values[prefix + #"launches_total{app="shop"}"#] == 2)
            #expect(try #require(values[prefix + #"last_incident_time_seconds{app="shop"}"#]) > 1.7e9)
            try second.send(SIGTERM)
            #expect(try second.end().exitCode == 143)
        }

        @Test(
            "A file of counts that cannot be used is reported, and the run starts from 0",
            arguments: [
                ("nonsense", "it is not a file of counts"),
                (#"{"app":"mail","startedUSec":1,"runningNSec":0,"counts":{},"durations":{}}"#, "it has those of mail"),
            ])
        func unusable(text: String, complaint: String) throws {
            try scratch.write(text, to: "counts")
            let run = try serve("--keep-counts", scratch["counts"])
            #expect(try eventually { try told()[Self.running] == 1 })
            #expect(try told()[#"watchdogd_app_launches_total{app="shop"}"#] == 1)
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 143)
            #expect(
                run.program.text(.errors).contains(
                    "counts start from 0: --keep-counts \(scratch["counts"]): \(complaint)"))
        }

        @Test("Without --metrics there is no port: the run listens on no TCP address")
        func none() throws {
            let run = try serve()
            #expect(try eventually { try told()[Self.running] == 1 })
            #expect(listeners(of: run.program.pid) == 0)
            try run.send(SIGTERM)
            _ = try run.end()
        }

        @Test("With --metrics the run listens, and its program does not inherit the socket")
        func inheritance() throws {
            let run = try serve("--metrics", "\(freePort())")
            #expect(try eventually { try told()[Self.running] == 1 })
            #expect(listeners(of: run.program.pid) == 1)
            let children = String(
                decoding: contents(of: "/proc/\(run.program.pid)/task/\(run.program.pid)/children") ?? [],
                as: UTF8.self)
            let pids = children.split(separator: " ").compactMap { Int32($0) }
            #expect(!pids.isEmpty)
            for pid in pids { #expect(listeners(of: pid) == 0) }
            try run.send(SIGTERM)
            _ = try run.end()
        }

        @Test("A port in use is a clear error, and nothing is launched")
        func taken() throws {
            let port = try freePort()
            let listener = try TextServer.listen(on: NetworkAddress(parsing: "127.0.0.1:\(port)"))
            let program = try Program(
                [product("watchdogd"), "run", "--metrics", "127.0.0.1:\(port)", "--", "/bin/touch", scratch["made"]])
            #expect(try program.end().code == 69)
            withExtendedLifetime(listener) {}
            #expect(
                program.text(.errors).contains("--metrics: cannot listen on 127.0.0.1:\(port): Address already in use"))
            #expect(!scratch.exists("made"))
        }

        /// The number of a process's listening TCP sockets.
        private func listeners(of pid: Int32) -> Int {
            let sockets = Set(
                names(in: "/proc/\(pid)/fd").compactMap { name -> Substring? in
                    var target = [CChar](repeating: 0, count: 64)
                    guard readlink("/proc/\(pid)/fd/\(name)", &target, target.count - 1) > 0 else { return nil }
                    let bytes = target.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
                    return String(decoding: bytes, as: UTF8.self).firstMatch(of: #/^socket:\[(\d+)\]$/#)?.1
                })
            var count = 0
            for table in ["tcp", "tcp6"] {
                let text = String(decoding: contents(of: "/proc/\(pid)/net/\(table)") ?? [], as: UTF8.self)
                for line in text.split(separator: "\n") {
                    let fields = line.split(separator: " ")
                    // 0A is TCP_LISTEN, and the tenth field is the inode: proc_pid_net(5).
                    if fields.count > 9, fields[3] == "0A", sockets.contains(fields[9]) { count += 1 }
                }
            }
            return count
        }
    }
}
