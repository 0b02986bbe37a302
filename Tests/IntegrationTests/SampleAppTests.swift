// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("Sample apps")
    struct SampleAppTests {
        // MARK: - HealthyApp

        @Test("HealthyApp is pinged, answers, and exits with 0 when watchdogd is asked to exit")
        func healthy() throws {
            let run = try Supervision(["--ping", "20ms", "--verbose"], [product("HealthyApp")])
            try run.line("HealthyApp: ready")
            try run.line("ready after", on: .errors)
            #expect(try run.program.lives(for: .seconds(2)))
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            let summary = try #require(ending.summary)
            #expect(summary.termination == "terminated")
            #expect(summary.launch?.source == "channel")
            #expect(summary.pings.count >= 3)
            #expect(summary.pings.strayAnswers == 0)
            #expect(summary.incidents.isEmpty)
            #expect(summary.exit?.code == 0)
            #expect(summary.isDeathVerified)
            #expect(summary.resourceUsage?.maximumResidentKilobytes ?? 0 > 1000)
            #expect(ending.reports.isEmpty)
            #expect(ending.messages.contains("watchdogd: HealthyApp asked to terminate"))
            #expect(ending.messages.contains("watchdogd: HealthyApp exited with code 0"))
        }

        @Test("HealthyApp may exit by itself without a message")
        func healthyEnds() throws {
            let ending = try supervise(unhurried(), [product("HealthyApp"), "--run-for", "0.2s"])
            #expect(ending.exitCode == 0)
            #expect(ending.errors == [])
            #expect(ending.summary?.termination == "exited")
            #expect(ending.summary?.exit?.code == 0)
        }

        // MARK: - SlowLaunch

        @Test("SlowLaunch within its launch allowance is not killed")
        func slowLaunch() throws {
            let run = try Supervision(["--launch", "10s"], [product("SlowLaunch"), "--seconds", "2"])
            try run.line("SlowLaunch: ready, 2400 rows")
            try run.send(SIGTERM)
            let ending = try run.end()
            // It has no handler, so the signal kills it.
            #expect(ending.exitCode == 143)
            #expect(ending.summary?.termination == "terminated")
            #expect(ending.summary?.exit?.signal == "SIGTERM")
            #expect(ending.summary?.launch?.milliseconds ?? 0 >= 2000)
            #expect(ending.summary?.incidents.isEmpty == true)
        }

        @Test("SlowLaunch beyond its launch allowance is killed for scene-create, in the middle of its migration")
        func tooSlowLaunch() throws {
            let ending = try supervise(["--launch", "1500ms"], [product("SlowLaunch"), "--seconds", "20"])
            #expect(ending.exitCode == 137)
            #expect(ending.output == "SlowLaunch: launching\n")
            let incident = try #require(ending.summary?.incidents.first)
            #expect(incident.event == "scene-create")
            #expect(ending.summary?.termination == "watchdog")
            #expect(ending.summary?.launch == nil)
            #expect(ending.messages.last?.contains("] killed: not ready within ") == true)
            let report = try #require(ending.reports.first)
            expectPatience(report)
            #expect(report.body.linux?.verdict.kind == .blocked)
            let main = report.body.threads[report.body.faultingThread]
            let names = main.frames.compactMap(\.symbol)
            #expect(names.contains { $0.contains("migrateDatabase") }, "\(names)")
            #expect(names.contains { $0.contains("finishLaunching") }, "\(names)")
        }

        @Test("An app that never sends hello is killed for process-launch")
        func noHello() throws {
            let command = python(#"notify("STATUS=looking for a seat"); time.sleep(60)"#)
            let ending = try supervise(["--launch", "3s"], command)
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "process-launch")
            #expect(ending.summary?.status == "looking for a seat")
            #expect(ending.reports.first?.body.linux?.status == "looking for a seat")
        }

        @Test("--time-scale multiplies every allowance")
        func timeScale() throws {
            let ending = try supervise(
                ["--time-scale", "0.05", "--launch", "20s"], [product("SlowLaunch"), "--seconds", "20"])
            #expect(ending.exitCode == 137)
            let allowance = try #require(ending.reports.first?.body.linux?.allowance)
            // Part of the budget belonged to process-launch.
            #expect(allowance.nanoseconds <= 1_000_000_000)
            #expect(allowance.nanoseconds > 0)
        }

        // MARK: - IgnoresTerm

        @Test("IgnoresTerm is killed for process-exit when its terminate allowance is over")
        func ignoresTerm() throws {
            let run = try Supervision(unhurried(["--terminate", "600ms"]), [product("IgnoresTerm")])
            try run.line("IgnoresTerm: ready")
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.termination == "watchdog")
            let incident = try #require(ending.summary?.incidents.first)
            #expect(incident.event == "process-exit")
            #expect(incident.allowanceMilliseconds == 600)
            let pid = ending.summary?.pid ?? 0
            #expect(
                ending.messages.last
                    == "watchdogd: IgnoresTerm[\(pid)] killed: did not exit within 600 ms (0x8badf00d)")
            let report = try #require(ending.reports.first)
            #expect(report.body.linux?.allowance.kind == "termination")
            expectPatience(report)
        }

        @Test("A second SIGTERM kills immediately, without an incident")
        func secondTerm() throws {
            let run = try Supervision(unhurried(["--verbose"]), [product("IgnoresTerm")])
            try run.line("IgnoresTerm: ready")
            try run.send(SIGTERM)
            try run.line("IgnoresTerm asked to terminate", on: .errors)
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.termination == "killedOnRequest")
            #expect(ending.summary?.exit?.signal == "SIGKILL")
            #expect(ending.summary?.incidents.isEmpty == true)
            #expect(ending.reports.isEmpty)
            #expect(!ending.messages.contains { $0.contains("0x8badf00d") })
        }

        // MARK: - ForkingApp

        @Test("ForkingApp's grandchildren die with it, even those that left the session and their parent")
        func forkingApp() throws {
            let run = try Supervision(unhurried(["--verbose"]), [product("ForkingApp"), "--exit"])
            try expectNoGrandchildren(run)
        }

        @Test(
            "ForkingApp's grandchildren die with it, even without cgroups",
            .enabled(if: isRoot, "an ordinary user has no cgroups: the test before this one is then the same"))
        func forkingAppWithoutCgroups() throws {
            let run = try Supervision(
                [], [product("ForkingApp"), "--exit"], wrapper: try withoutCgroups())
            let line = try run.line("no cgroup: ", on: .errors)
            #expect(line.hasSuffix("may escape a kill"), "\(line)")
            try expectNoGrandchildren(run)
        }

        @Test("ForkingApp's grandchildren die when it is asked to exit")
        func forkingAppTerminated() throws {
            let run = try Supervision(unhurried(), [product("ForkingApp")])
            try run.line("ForkingApp: ready")
            #expect(eventually { run.processes.count == 3 })
            try run.send(SIGTERM)
            let ending = try run.end()
            #expect(ending.exitCode == 143)
            #expect(ending.summary?.termination == "terminated")
        }

        private func expectNoGrandchildren(_ run: Supervision) throws {
            let inGroup = try #require(Int32(try run.line("own process group: ").split(separator: " ").last ?? ""))
            let inSession = try #require(Int32(try run.line("own session: ").split(separator: " ").last ?? ""))
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.summary?.isDeathVerified == true)
            for pid in [inGroup, inSession] {
                // It is reaped too, not left to process 1 as a zombie.
                #expect(kill(pid, 0) != 0 && errno == ESRCH)
            }
        }
    }
}

/// A command that hides the cgroup2 file system from the command that follows.
func withoutCgroups() throws -> [String] {
    ["unshare", "--mount", "/bin/sh", "-c", #"umount -l "$0" && exec "$@""#, try cgroupMount()]
}

private func cgroupMount() throws -> String {
    let mounts = String(decoding: contents(of: "/proc/self/mountinfo") ?? [], as: UTF8.self).split(separator: "\n")
    guard let mount = mounts.last(where: { $0.contains(" - cgroup2 ") }) else { throw Failure("no cgroup2 is mounted") }
    return String(mount.split(separator: " ")[4])
}
