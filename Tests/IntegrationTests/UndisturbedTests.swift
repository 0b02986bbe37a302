// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    /// Siblings: see `UndisturbedTests` of `WatchdogCaptureTests`.
    @Suite(
        "Programs that treat EINTR as an error, and survive", .enabled(if: isInstalled("cc"), "there is no compiler"))
    struct UndisturbedTests {
        private let scratch: Scratch
        private let path: String

        init() throws {
            scratch = try Scratch()
            path = scratch["interruptible"]
            let compiler = try Program(["cc", "-O1", "-pthread", "-o", path, "\(subjects)/interruptible.c"])
            let status = try compiler.end()
            try #require(status == .exited(code: 0), "\(compiler.text(.errors))")
        }

        @Test(
            "An allowance that runs out with --enforce report interrupts no call, nor does the examination at half of it"
        )
        func reported() throws {
            let ending = try supervise(
                ["--enforce", "report", "--readiness", "notify", "--update", "1s"], [path, "sleep", "2.5"])
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(ending.output.contains("0 interrupted"), "\(ending.output) \(ending.errors)")
            let report = try #require(ending.reports.first)
            #expect(report.body.linux?.capture?.method == .procfsRegisters)
            #expect(report.body.threads.count > 30)
            #expect(report.body.threads.allSatisfy { !$0.frames.isEmpty })
        }

        @Test("watchdogd observe, sample and capture interrupt no call", arguments: ["sleep", "enter"])
        func looked(mode: String) throws {
            let program = try Program([path, mode, "1000"], streams: .pipesAndInput)
            try program.line("ready")
            let observer = try Program([
                product("watchdogd"), "observe", "\(program.pid)", "--probe", "tcp:127.0.0.1:1", "--probe-interval",
                "200ms", "--probe-timeout", "400ms", "--probe-threshold", "2", "--reports", scratch.path,
            ])
            try observer.line("reported: ", on: .errors)
            for command in [["sample", "--for", "300ms", "--interval", "1ms"], ["capture", "--stop"], ["capture"]] {
                let look = try Program([product("watchdogd")] + command + ["\(program.pid)"])
                let status = try look.end()
                #expect(status == .exited(code: 0), "\(look.text(.errors))")
            }
            program.type("!")
            try program.line("0 interrupted")
            let status = try program.end()
            #expect(status == .exited(code: 0), "\(program.text(.errors))")
            _ = try observer.end()
        }
    }
}
