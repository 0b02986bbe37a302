// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    @Suite("watchdogd top, with a daemon")
    struct TopTests {
        private static let healthy = "[App]\nExecStart=\(product("HealthyApp"))\n[Watchdog]\nPing=50ms\n"

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
            #expect(Double(cells[3]) != nil && "KM".contains(cells[4].last ?? "-") && Int(cells[5]) ?? 0 > 0, "\(line)")
            #expect(lines.contains("1 app: 1 running"))
            #expect(!answer.output.contains("\u{1b}"))
            #expect(try service.end() == 0)
        }

        @Test(
            "On a terminal it draws, follows keys, and gives the screen back, even if the daemon goes away",
            .enabled(if: isInstalled("script"), "script of bsdutils is not installed"))
        func terminal() throws {
            let service = try Service(["healthy": Self.healthy])
            try service.wait(for: "healthy") { $0.state == .running }
            func top() throws -> Program {
                let command =
                    "\(product("watchdogd")) top --interval 200ms --control \(service.scratch["control"]); echo code $?"
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
    }
}
