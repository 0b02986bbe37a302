// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    @Suite("watchdogd top, with a daemon")
    struct TopTests {
        private static let healthy =
            "[App]\nExecStart=\(quoted(product("HealthyApp")))\n\(unhurriedSettings)Ping=50ms\n"

        @Test("Without a terminal it prints one table, without colors, and exits")
        func piped() throws {
            let service = try Service(["healthy": Self.healthy])
            try service.wait(for: "healthy") { $0.state == .running }
            let answer = try service.command("top", "--interval", "300ms")
            #expect(answer.code == 0)
            let lines = answer.output.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.first?.hasPrefix("APP*") == true, "\(answer.output)")
            let line = try #require(lines.first { $0.hasPrefix("healthy") }, "\(answer.output)")
            let cells = line.split(separator: " ")
            // CPU, memory and threads are read from this machine.
            #expect(Double(cells[4]) != nil && "KM".contains(cells[5].last ?? "-") && Int(cells[6]) ?? 0 > 0, "\(line)")
            #expect(lines.contains("1 app: 1 running"))
            #expect(!answer.output.contains("\u{1b}"))
            #expect(try service.end() == 0)
        }

        @Test(
            "On a terminal it draws, handles keys, and restores the screen, even if the daemon exits",
            .enabled(if: isInstalled("script"), "script of bsdutils is not installed"))
        func terminal() throws {
            let service = try Service(["healthy": Self.healthy])
            try service.wait(for: "healthy") { $0.state == .running }
            func top() throws -> Program {
                let command =
                    "\(shellWord(product("watchdogd"))) top --interval 200ms --control \(service.scratch["control"]); echo code $?"
                let program = try Program(
                    ["script", "--quiet", "--return", "--echo", "never", "--command", command, "/dev/null"],
                    streams: .pipesAndInput)
                try program.line("1 app: 1 running")
                try program.line("APP*")
                return program
            }
            let program = try top()
            program.type("c")
            try program.line("CPU%*")
            program.type("q")
            try program.line("code 0")
            #expect(program.text(.output).contains("\u{1b}[?1049l"))
            #expect(try program.end().code == 0)

            let orphan = try top()
            #expect(try service.end() == 0)
            try orphan.line("code 69")
            #expect(orphan.text(.output).contains("\u{1b}[?1049l"))
            try orphan.end()
        }

        @Test(
            "Enter opens the crash log in the caller's PAGER; under sudo, which keeps the caller's environment, in less",
            .enabled(if: isInstalled("script") && isInstalled("less"), "script or less is not installed"),
            arguments: [false, true])
        func pager(underSudo: Bool) throws {
            let service = try Service([
                "crashes": "[App]\nExecStart=/bin/sh -c 'kill -ABRT $$'\n[Restart]\nPolicy=never\n"
            ])
            #expect(eventually { (try? service.app("crashes").lastIncident?.report) != nil })
            let marker = service.scratch["marker"]
            var environment = testEnvironment()
            for name in ["PAGER", "WATCHDOGD_PAGER"] { environment[name] = "sh -c 'cat >/dev/null; touch \(marker)'" }
            // Terminal settings for less.
            for (name, value) in ["TERM": "xterm", "LINES": "24", "COLUMNS": "80"] { environment[name] = value }
            environment["SUDO_UID"] = underSudo ? "1000" : nil
            let command = "\(shellWord(product("watchdogd"))) top --control \(service.scratch["control"]); echo code $?"
            let program = try Program(
                ["script", "--quiet", "--return", "--echo", "never", "--command", command, "/dev/null"],
                environment: environment, streams: .pipesAndInput)
            try program.line("1 app:")
            program.type("\u{1b}[B\r")
            if underSudo {
                try program.line("Incident Identifier:")
                program.type("q")
            } else {
                #expect(eventually { service.scratch.exists("marker") })
            }
            program.type("q")
            try program.line("code 0")
            #expect(service.scratch.exists("marker") == !underSudo)
            #expect(try program.end().code == 0)
            #expect(try service.end() == 0)
        }
    }
}
