// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    @Suite("The status of an ongoing hang")
    struct HangInProgressTests {
        @Test("If a main loop does not answer pings, all views and metrics show that, and nothing is killed")
        func pings() throws {
            let service = try Service([
                "hang": """
                [App]
                ExecStart=\(product("HangMain")) --how sleep --after 0
                [Watchdog]
                Launch=1h
                Update=10min
                Terminate=100ms
                Ping=50ms
                [Restart]
                Policy=never
                """
            ])
            let app = try service.wait(for: "hang") { $0.silence != nil }
            #expect(app.silence?.reason == .ping)
            // Narrow output is shorter.
            for (command, words) in [
                (["list"], "not answering for "), (["status", "hang"], "not answering for "),
                (["top", "--interval", "100ms"], "not answering "),
            ] {
                let (code, output, errors) = try service.command(command)
                #expect(code == 0 && output.contains(words), "\(command): \(output)\(errors)")
            }
            let ping = try service.command("ping", "hang")
            #expect(ping.code == 1 && ping.output.contains("not answering for "), "\(ping)")
            let metrics = seriesValues(in: try service.command("metrics").output)
            #expect(metrics[#"watchdogd_app_answering{app="hang"}"#] == 0)
            #expect(metrics[#"watchdogd_app_incidents_total{app="hang",event="scene-update",action="killed"}"#] == 0)
            let later = try service.app("hang")
            #expect(later.pid == app.pid && later.silence?.reason == .ping && later.lastIncident == nil)
            #expect(names(in: service.scratch["reports"]).isEmpty)
            #expect(try service.end() == 0)
        }

        @Test("Failed probes are counted from the first one; an answer ends the hang, and nothing is killed")
        func probes() throws {
            let scratch = try Scratch()
            let service = try Service(
                [
                    "web": """
                    [App]
                    ExecStart=/bin/sleep 100000
                    \(unhurriedSettings)
                    Readiness=none
                    Enforce=report
                    Probe=exec:test ! -e \(scratch["silent"])
                    ProbeInterval=500ms
                    ProbeTimeout=1h
                    ProbeThreshold=1000
                    """
                ], scratch: scratch)
            let watcher = try Program(
                [product("watchdogd"), "events", "--json", "--control", scratch["control"], "-l", "100"])
            let app = try service.wait(for: "web") { $0.state == .running }
            #expect(app.silence == nil)
            try scratch.write("", to: "silent")
            try watcher.line("\"kind\":\"probeFailed\"")
            let silent = try service.wait(for: "web") { $0.silence != nil }
            #expect(silent.silence?.reason == .probes && silent.silence?.neededProbes == 1_000)
            for command in [["list"], ["status", "web"]] {
                let (code, output, errors) = try service.command(command)
                #expect(code == 0 && output.contains("not answering for "), "\(command): \(output)\(errors)")
                #expect(output.contains(#/\(\d+ of 1000 probes failed\)/#), "\(command): \(output)")
            }
            #expect(try service.command("top", "--interval", "100ms").output.contains("not answering "))
            let metrics = seriesValues(in: try service.command("metrics").output)
            #expect(metrics[#"watchdogd_app_answering{app="web"}"#] == 0)
            #expect(metrics[#"watchdogd_app_probe_failures_total{app="web"}"#] ?? 0 >= 1)
            let later = try service.app("web")
            #expect(later.pid == app.pid && later.silence?.reason == .probes && later.lastIncident == nil)
            unlink(scratch["silent"])
            try watcher.line("\"kind\":\"probeRecovered\"")
            try service.wait(for: "web") { $0.silence == nil && $0.pid == app.pid }
            #expect(names(in: scratch["reports"]).isEmpty)
            try watcher.send(SIGINT)
            try watcher.end()
            #expect(try service.end() == 0)
        }
    }
}
