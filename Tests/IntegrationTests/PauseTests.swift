// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("Programs that somebody else pauses")
    struct PauseTests {
        /// Answers once, prints its pid, and then hangs or continues.
        private static let hanging = python(
            #"notify("READY=1", "WATCHDOG=1"); barrier(); say(os.getpid()); hang()"#)
        private static let living = python(
            #"notify("READY=1", "WATCHDOG=1"); barrier(); say(os.getpid()); push(1000, 0.1)"#)

        private func pid(_ run: Supervision) throws -> Int32 { try #require(Int32(try run.line())) }

        // MARK: - SIGSTOP

        @Test("A stopped program is not killed, and keeps running when it is continued")
        func stopped() throws {
            let run = try Supervision(["--update", "500ms"], Self.living)
            let pid = try pid(run)
            kill(pid, SIGSTOP)
            try run.line("python3 is stopped by a signal; its allowances are paused", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(1200)))
            kill(pid, SIGCONT)
            try run.line("python3 is running again after", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(700)))
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.summary?.termination == "terminated")
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        @Test("A program that hangs after it was continued is killed, and the time of the stop does not count")
        func stoppedThenHanging() throws {
            let run = try Supervision(["--update", "700ms"], Self.hanging)
            let pid = try pid(run)
            kill(pid, SIGSTOP)
            try run.line("is stopped by a signal", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(1200)))
            kill(pid, SIGCONT)
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            let report = try #require(ending.reports.first)
            expectPatience(report)
            let allowance = try #require(report.body.linux?.allowance)
            #expect(allowance.pausedNanoseconds >= 1_000_000_000)
            let due = allowance.nanoseconds + allowance.creditNanoseconds + allowance.pausedNanoseconds
            #expect(allowance.elapsedNanoseconds >= due)
            #expect(report.body.linux?.verdict.kind == .blocked)
        }

        @Test("A stopped program that is asked to exit is continued, and exits")
        func stoppedThenTerminated() throws {
            let run = try Supervision(["--update", "500ms"], Self.living)
            let pid = try pid(run)
            kill(pid, SIGSTOP)
            try run.line("is stopped by a signal", on: .errors)
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 143)
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        // MARK: - Frozen cgroup

        @Test(
            "A program in a frozen cgroup is not killed, and keeps running when it is thawed",
            .enabled(if: Leftovers.canUseCgroups, "no cgroups may be created here"))
        func frozen() throws {
            let run = try Supervision(["--update", "500ms"], Self.living)
            _ = try pid(run)
            let cgroup = try #require(Leftovers.cgroup(ofSupervisor: run.program.pid))
            let freezer = try Scratch.appending("1", to: "\(cgroup)/\(try #require(appCgroup(cgroup)))/cgroup.freeze")
            try run.line("python3 is in a frozen cgroup; its allowances are paused", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(800)))
            _ = try Scratch.appending("0", to: freezer)
            try run.line("python3 is running again after", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(700)))
            try run.send(SIGTERM)
            #expect(try run.end().summary?.incidents.isEmpty == true)
        }

        private func appCgroup(_ parent: String) -> String? {
            names(in: parent).first { access("\(parent)/\($0)/cgroup.freeze", F_OK) == 0 }
        }

        // MARK: - Debuggers

        private static let canDebug = isInstalled("gdb") && (hasAllRights || yamaAllows)
        private static let yamaAllows =
            contents(of: "/proc/sys/kernel/yama/ptrace_scope").map { $0.first == UInt8(ascii: "0") } ?? true

        @Test(
            "A program in a debugger is not killed; a hang after the debugger detaches is",
            .enabled(if: canDebug, "gdb is not installed, or may not attach to another program"))
        func debugged() throws {
            let run = try Supervision(
                // The debugger must attach before the program hangs.
                ["--update", "700ms", "--ping", "100ms"], [product("HangMain"), "--how", "sleep", "--after", "8"])
            try run.line("HangMain: ready")
            let pid = try #require(run.processes.first)
            let debugger = try attach(to: pid)
            try run.line("HangMain is traced by pid \(debugger.pid); its allowances are paused", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(1500)))
            debugger.type("go on\n")
            try debugger.end()
            try run.line("HangMain is running again after", on: .errors)
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            let report = try #require(ending.reports.first)
            #expect(report.body.linux?.verdict.kind == .blocked)
            // The allowance starts over, with a fresh ping.
            expectPatience(report)
        }

        @Test(
            "A program that keeps running after the debugger detaches is not killed",
            .enabled(if: canDebug, "gdb is not installed, or may not attach to another program"))
        func debuggedAndWell() throws {
            let run = try Supervision(["--update", "600ms", "--ping", "100ms"], [product("HealthyApp")])
            try run.line("HealthyApp: ready")
            let pid = try #require(run.processes.first)
            let debugger = try attach(to: pid)
            try run.line("HealthyApp is traced by pid", on: .errors)
            debugger.type("go on\n")
            try debugger.end()
            try run.line("HealthyApp is running again after", on: .errors)
            #expect(try run.program.lives(for: .milliseconds(1000)))
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        @Test(
            "A program that dies under a debugger ends the run once the debugger detaches",
            .enabled(if: canDebug, "gdb is not installed, or may not attach to another program"))
        func diedInDebugger() throws {
            let run = try Supervision(["--update", "20s"], Self.living)
            let pid = try pid(run)
            let debugger = try attach(to: pid)
            kill(pid, SIGKILL)
            #expect(try run.program.lives(for: .milliseconds(300)))
            debugger.type("go on\n")
            try debugger.end()
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.termination == "exited")
            #expect(ending.summary?.exit?.signal == "SIGKILL")
        }

        /// A debugger that holds a process until a line is typed.
        private func attach(to pid: Int32) throws -> Program {
            let debugger = try Program(
                ["gdb", "-nx", "-q", "-batch-silent", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off"]
                    + ["-p", "\(pid)", "-ex", "shell echo attached; read line"],
                streams: .pipesAndInput)
            try debugger.line("attached")
            return debugger
        }
    }
}
