// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    @Suite("Metrics of the daemon")
    struct MetricsTests {
        private static let sleeper = "[App]\nExecStart=/bin/sleep 1000\n[Watchdog]\nReadiness=none\n"
        private static let failing = """
            [App]
            ExecStart=/bin/sh -c 'exit 3'
            [Watchdog]
            Readiness=none
            [Restart]
            Policy=never

            """
        private static let hanging = """
            [App]
            ExecStart=\(quoted(product("HangMain"))) --how sleep --after 1
            [Watchdog]
            Update=600ms
            Ping=50ms
            [Restart]
            Policy=never

            """

        private func metrics(_ service: Service) throws -> [String: Double] {
            let (code, output, errors) = try service.command("metrics")
            try #require(code == 0, "\(errors)")
            return seriesValues(in: output)
        }

        @Test("An app that hangs, one that fails and one that runs are counted accordingly")
        func counts() throws {
            let service = try Service(["hang": Self.hanging, "fail": Self.failing, "live": Self.sleeper])
            try service.wait(for: "hang") { $0.lastIncident?.report != nil && $0.state != .dying }
            try service.wait(for: "fail") { $0.lastIncident?.report != nil }
            let values = try metrics(service)
            for app in ["hang", "fail", "live"] { #expect(values["watchdogd_app_launches_total{app=\"\(app)\"}"] == 1) }
            let prefix = "watchdogd_app_"
            #expect(values[prefix + #"incidents_total{app="hang",event="scene-update",action="killed"}"#] == 1)
            #expect(values[prefix + #"incidents_total{app="hang",event="process-launch",action="killed"}"#] == 0)
            #expect(values[prefix + #"terminations_total{app="hang",cause="watchdog"}"#] == 1)
            #expect(values[prefix + #"terminations_total{app="fail",cause="exit"}"#] == 1)
            #expect(values[prefix + #"verdicts_total{app="fail",verdict="failed"}"#] == 1)
            #expect(values[prefix + #"faults_total{app="fail",fault="app"}"#] == 1)
            #expect(values[prefix + #"state{app="live",state="running"}"#] == 1)
            #expect(values[prefix + #"state{app="live",state="failed"}"#] == 0)
            #expect(values[prefix + #"allowance_seconds{app="hang",allowance="update"}"#] == 0.6)
            #expect(try #require(values[prefix + #"ping_duration_seconds_count{app="hang"}"#]) > 0)
            #expect(values[prefix + #"ping_duration_seconds_count{app="live"}"#] == 0)
            #expect(try #require(values[prefix + #"running_seconds_total{app="live"}"#]) > 0)
            #expect(try #require(values[prefix + #"start_time_seconds{app="live"}"#]) > 1.7e9)
            #expect(try #require(values["watchdogd_loop_lateness_seconds_count"]) > 0)
            #expect(try service.end() == 0)
        }

        @Test("A reload of the configuration keeps the counts; a removed app has no series")
        func reload() throws {
            let service = try Service(["live": Self.sleeper, "fail": Self.failing])
            try service.wait(for: "fail") { $0.state == .stopped }
            try service.write(Self.sleeper + "[Restart]\nDelay=2s\n", to: "live")
            service.remove("fail")
            #expect(try service.command("reload").code == 0)
            let values = try metrics(service)
            #expect(values["watchdogd_app_launches_total{app=\"live\"}"] == 1)
            #expect(values.keys.allSatisfy { !$0.contains("\"fail\"") })
            #expect(values["watchdogd_apps"] == 1)
            #expect(try service.end() == 0)
        }

        @Test("promtool accepts the text", .enabled(if: isInstalled("promtool"), "needs promtool (Debian: prometheus)"))
        func promtool() throws {
            let service = try Service(["live": Self.sleeper, "hang": Self.hanging])
            try service.wait(for: "live") { $0.state == .running }
            let text = try service.command("metrics").output
            try service.scratch.write(text, to: "metrics.txt")
            let lint = try Program(shell("promtool check metrics < \"$1\"", service.scratch["metrics.txt"]))
            let status = try lint.end()
            #expect(status == .exited(code: 0), "\(lint.text(.output))\(lint.text(.errors))")
            #expect(try service.end() == 0)
        }

        @Test("Another user may not read them", .enabled(if: isRoot, "needs root"))
        func stranger() throws {
            let service = try Service(["live": Self.sleeper], isSystem: true)
            try service.wait(for: "live") { $0.state == .running }
            chmod(service.scratch.path, 0o711)
            chmod(service.scratch["control"], 0o666)
            let program = try Program(
                ["setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", product("watchdogd"), "metrics"]
                    + ["--control", service.scratch["control"]])
            #expect(try program.end().code == 77)
            #expect(program.text(.output) == "")
            #expect(try service.end() == 0)
        }

        // MARK: - The file

        @Test("The file for node_exporter is world-readable, and has the same series")
        func file() throws {
            let scratch = try Scratch()
            let service = try Service(
                ["live": Self.sleeper], options: ["--metrics-file", scratch["watchdogd.prom"]], scratch: scratch)
            #expect(eventually { scratch.exists("watchdogd.prom") })
            var information = stat()
            #expect(stat(scratch["watchdogd.prom"], &information) == 0)
            #expect(information.st_mode & 0o777 == 0o644)
            let written = seriesValues(in: try #require(scratch.read("watchdogd.prom")))
            #expect(written["watchdogd_app_launches_total{app=\"live\"}"] != nil)
            // Values read from a process may change between the two.
            let isCounted = { (name: String) in !name.contains(#/app_info|cpu_seconds|memory_bytes/#) }
            #expect(Set(written.keys.filter(isCounted)) == Set(try metrics(service).keys.filter(isCounted)))
            #expect(names(in: scratch.path).allSatisfy { !$0.hasSuffix(".tmp") })
            #expect(try service.end() == 0)
        }

        @Test("A full disk is reported, and breaks nothing else")
        func fullDisk() throws {
            let scratch = try Scratch()
            #expect(symlink("/dev/full", scratch["full.prom"]) == 0)
            let service = try Service(
                ["live": Self.sleeper], options: ["--metrics-file", scratch["full.prom"]], scratch: scratch)
            try service.program.line("cannot write metrics", on: .errors)
            try service.wait(for: "live") { $0.state == .running }
            #expect(try metrics(service)["watchdogd_app_state{app=\"live\",state=\"running\"}"] == 1)
            #expect(try service.end() == 0)
            let lines = service.program.text(.errors).split(separator: "\n").filter { $0.contains("metrics") }
            #expect(lines.count == 1 && lines[0].contains("No space left on device (ENOSPC)"), "\(lines)")
        }

        // MARK: - The server

        /// A service whose metrics are served on a free port of localhost.
        private func served(_ apps: [String: String], _ scratch: Scratch) throws -> (Service, port: UInt16) {
            let port = try freePort()
            return (try Service(apps, options: ["--metrics", "\(port)"], scratch: scratch), port)
        }

        /// A scraper: the port, its connections, and whether it asks by `half`, is `deaf` or does `read`.
        static let reader = """
            import socket, sys
            port, count = int(sys.argv[1]), int(sys.argv[2])
            held = []
            for _ in range(count):
                held.append(socket.create_connection(('127.0.0.1', port)))
                held[-1].sendall(b'GET /metrics HTTP/1.1\\r\\n' + (b'' if sys.argv[3] == 'half' else b'\\r\\n'))
            if sys.argv[3] == 'read':
                print(held[0].makefile('rb').read().decode(), end='')
            else:
                print('held', flush=True)
                sys.stdin.read()
            """

        @Test("A scrape returns the command's output, under its content type", .enabled(if: isInstalled("python3")))
        func scrape() throws {
            let (service, port) = try served(["live": Self.sleeper], Scratch())
            try service.wait(for: "live") { $0.state == .running }
            let client = try Program(["python3", "-c", Self.reader, "\(port)", "1", "read"])
            #expect(try client.end().code == 0)
            let answer = client.text(.output)
            #expect(answer.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"))
            let body = try #require(answer.split(separator: "\r\n\r\n", maxSplits: 1).last)
            #expect(seriesValues(in: String(body)).keys.contains("watchdogd_app_launches_total{app=\"live\"}"))
            #expect(try service.end() == 0)
        }

        @Test(
            "A hang is killed in time, and commands are answered, while scrapers neither ask nor read",
            .enabled(if: isInstalled("python3"), "needs python3"), arguments: ["half", "deaf"])
        func crowd(_ manner: String) throws {
            let (service, port) = try served(["hang": Self.hanging], Scratch())
            let crowd = try Program(
                ["python3", "-c", Self.reader, "\(port)", "500", manner], streams: .pipesAndInput)
            #expect(try crowd.line() == "held")
            try service.wait(for: "hang") { $0.lastIncident?.report != nil }
            #expect(try service.command("list").code == 0)
            #expect(try metrics(service)["watchdogd_app_terminations_total{app=\"hang\",cause=\"watchdog\"}"] == 1)
            // Threads, sockets and files of the daemon: fewer than the crowd's.
            #expect(names(in: "/proc/\(service.program.pid)/fd").count < 150)
            try crowd.send(SIGKILL)
            _ = try crowd.end()
            #expect(try service.end() == 0)
        }

        @Test("A port in use is a clear error, before any launch")
        func taken() throws {
            let scratch = try Scratch()
            let (service, port) = try served(["live": Self.sleeper], scratch)
            let second = try Program(
                [product("watchdogd"), "serve", "--user", "--config", scratch["apps"], "--control", scratch["second"]]
                    + ["--reports", scratch["reports"], "--no-history", "--metrics", "127.0.0.1:\(port)"],
                environment: testEnvironment())
            #expect(try second.end().code == 69)
            #expect(
                second.text(.errors).contains("--metrics: cannot listen on 127.0.0.1:\(port): Address already in use"))
            #expect(try service.end() == 0)
        }
    }
}

/// The values of all series in a metrics text.
func seriesValues(in text: String) -> [String: Double] {
    var values: [String: Double] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        guard let blank = line.lastIndex(of: " ") else { continue }
        values[String(line[..<blank])] = Double(line[line.index(after: blank)...])
    }
    return values
}
