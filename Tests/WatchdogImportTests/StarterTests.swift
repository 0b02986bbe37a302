// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogMeasurement

@testable import WatchdogImport

@Suite("Starter files")
struct StarterTests {
    private func findings(_ change: (inout TrialFindings) -> Void = { _ in }) -> TrialFindings {
        var findings = TrialFindings(
            command: ["/usr/bin/web", "--port", "40000", "50%", "a b", "$HOME"], observed: .seconds(3),
            end: .terminated(after: .milliseconds(12)))
        change(&findings)
        return findings
    }

    private func settings(
        _ findings: TrialFindings, directory: String = "/", needsDirectory: Bool = false
    ) throws -> [String] {
        let file = StarterFile(
            name: try AppName("web"), findings: findings, directory: directory, isRoot: false,
            needsDirectory: needsDirectory)
        return try file.text(specifiers: .system).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("# ") && !$0.hasPrefix("[") }
    }

    @Test("A silent program gets the defaults, as comments")
    func silent() throws {
        #expect(
            try settings(findings()) == [
                "ExecStart=/usr/bin/web --port 40000 50%% \"a b\" $$HOME", "#Readiness=auto", "#Launch=20s",
                "Terminate=5s",
                "#Probe=exec:true", "Policy=on-failure",
            ])
    }

    @Test("READY=1 is preferred to listening, and heartbeats to a probe")
    func notify() throws {
        let lines = try settings(
            findings {
                $0.ready = TrialFindings.Readiness(time: .milliseconds(1_500), source: .notify)
                $0.heartbeats = 2
                $0.listeners = [.init(address: "127.0.0.1:80", time: .milliseconds(90))]
            })
        #expect(
            lines.dropFirst() == [
                "Readiness=notify", "Launch=10s", "Update=10s", "Terminate=5s", "#Probe=tcp:127.0.0.1:80",
                "Policy=on-failure",
            ])
    }

    @Test("An HTTP server gets an http probe; a status code other than success is allowed")
    func http() throws {
        let lines = try settings(
            findings {
                $0.listeners = [
                    .init(address: "/run/web.sock", time: .milliseconds(1)),
                    .init(address: "[::]:80", time: .milliseconds(90), httpStatus: 404),
                ]
            })
        #expect(lines.contains("Readiness=listen:*:80"))
        #expect(lines.suffix(3) == ["Probe=http://localhost:80/", "ProbeStatus=200-399 404", "Policy=on-failure"])
    }

    @Test("A port that the kernel may have chosen is used only if the command names it")
    func ports() throws {
        for (port, isUsed) in [(32_767, true), (32_768, false), (40_000, true)] {
            let lines = try settings(findings { $0.listeners = [.init(address: "127.0.0.1:\(port)", time: .zero)] })
            #expect(lines.contains("Probe=tcp:127.0.0.1:\(port)") == isUsed)
        }
    }

    @Test("An allowance is at least five times the observed time")
    func allowances() {
        #expect(StarterFile.allowance(.seconds(1)) == "5s")
        #expect(StarterFile.allowance(.milliseconds(1_001)) == "10s")
        #expect(StarterFile.allowance(.seconds(720)) == "1h")
        #expect(StarterFile.allowance(.seconds(721)) == "1h 5s")
    }

    @Test("A folder that the command needs is set")
    func folders() throws {
        #expect(try settings(findings(), directory: "/srv").contains("#WorkingDirectory=/srv"))
        #expect(try settings(findings(), directory: "/srv", needsDirectory: true).contains("WorkingDirectory=/srv"))
    }

    @Test("Names have only permitted letters")
    func names() {
        #expect(StarterFile.name(for: ["/usr/bin/my server+"]).description == "my_server_")
        #expect(StarterFile.name(for: ["/"]).description == "app")
        #expect(StarterFile.name(for: [String(repeating: "x", count: 70)]).description.utf8.count == 64)
    }

    @Test("The observations are described in words")
    func text() {
        let findings = findings {
            $0.hello = .milliseconds(40)
            $0.ready = TrialFindings.Readiness(time: .milliseconds(1_234), source: .channel)
            $0.heartbeats = 1
            $0.listeners = [.init(address: "127.0.0.1:80", time: .seconds(12), httpStatus: 200)]
            $0.end = .killed(after: .seconds(5))
        }
        #expect(
            TrialText(findings).lines == [
                "opened the channel after 40 ms", "READY=1 after 1.23 s, channel", "WATCHDOG=1 1 time",
                "listens on 127.0.0.1:80 after 12.00 s; answered GET / with 200",
                "did not exit within 5.00 s of SIGTERM; killed",
            ])
    }
}
