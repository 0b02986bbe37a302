// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension EndToEnd {
    @Suite("Apps survive watchdogd")
    struct SurvivalTests {
        private let dice = Dice()

        /// The time limit for the next ping on a machine that is busy.
        private static let soon = Duration.seconds(10)

        private func start(_ rest: [String: String], keepsDescriptors: Bool = true) throws -> Succession {
            let succession = try Succession([:], keepsDescriptors: keepsDescriptors)
            var apps: [String: String] = [:]
            for (name, rest) in rest {
                apps[name] = succession.survivor(name, rest.isEmpty ? unhurriedSettings : rest)
            }
            try succession.add(apps)
            for name in apps.keys {
                #expect(eventually { succession.log(name).contains { $0.what == "ping" } }, "\(name) is pinged")
            }
            return succession
        }

        private func pids(_ succession: Succession, _ names: [String]) throws -> [Int32?] {
            try names.map { try succession.app($0).pid }
        }

        /// Waits for the first ping after an instant; returns how long it took.
        private func pinged(_ succession: Succession, _ name: String, after instant: Instant) -> Duration? {
            var first: Instant?
            let isPinged = eventually {
                first = succession.log(name).first { $0.what == "ping" && $0.at > instant }?.at
                return first != nil
            }
            return isPinged ? first.map { $0 - instant } : nil
        }

        private func expectOneLife(
            _ succession: Succession, _ names: [String], _ pids: [Int32?],
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            for (name, pid) in zip(names, pids) {
                let app = try succession.app(name)
                #expect(app.pid == pid, sourceLocation: sourceLocation)
                #expect(app.state == .running, sourceLocation: sourceLocation)
                #expect(app.restarts == 0, sourceLocation: sourceLocation)
                #expect(
                    succession.log(name).filter { $0.what == "started" }.map(\.pid) == [pid], "one instance of \(name)",
                    sourceLocation: sourceLocation)
            }
        }

        @Test("the service manager receives the number of apps in each state when that changes")
        func status() throws {
            let succession = try Succession([
                "plain": "[App]\nExecStart=/bin/sleep 1000\n\(unhurriedSettings)Readiness=none\n"
            ])
            func isTold(_ line: String) throws -> Bool {
                try eventually {
                    try succession.pump()
                    return succession.statuses.last == line
                }
            }
            #expect(try isTold("1 app: 1 running"), "\(succession.statuses)")
            _ = try succession.client.terminate(AppRequest("plain", waits: true))
            #expect(try isTold("1 app: 1 stopped"), "\(succession.statuses)")
            _ = try succession.client.launch(AppRequest("plain", waits: true))
            #expect(try isTold("1 app: 1 running"), "\(succession.statuses)")
        }

        @Test("an inherited app can reload its own configuration")
        func reload() throws {
            let succession = try Succession([:])
            let log = succession.scratch["reloads"]
            try succession.add([
                "app": """
                [App]
                ExecStart=/bin/sleep 1000
                Environment=GREETING=hello
                StandardOutput=append:\(log)
                LimitCORE=4096
                ExecReload=/bin/sh -c 'echo $GREETING $MAINPID $(ulimit -c)'
                [Watchdog]
                Readiness=none
                """
            ])
            let pid = try #require(try succession.app("app").pid)
            try succession.killDaemon()
            try succession.succeed()
            let reply = try succession.client.reload(AppRequest("app", waits: true))
            #expect(reply.duration != nil && !reply.isConfirmed)
            let text = try String(decoding: #require(contents(of: log)), as: UTF8.self)
            // dash counts blocks of 512 bytes.
            #expect(text == "hello \(pid) 8\n")
        }

        @Test(
            "twenty kills at any time: the same processes, pinged again immediately, none twice, nothing held against them"
        )
        func killedAgainAndAgain() throws {
            let names = ["a", "b", "c"]
            let succession = try start(["a": "", "b": "", "c": "Update=5s\n"])
            let before = try pids(succession, names)
            var longest = Duration.zero
            for _ in 0..<20 {
                poll(nil, 0, dice.number(in: 0...300))
                try succession.killDaemon()
                try succession.succeed()
                let ready = Instant.now()
                for name in names {
                    let wait = try #require(pinged(succession, name, after: ready))
                    longest = max(longest, wait)
                }
            }
            print("longest time to a ping after the start: \(longest)")
            #expect(longest < Self.soon)
            try expectOneLife(succession, names, before)
            #expect(Set(succession.processes) == Set(before.compactMap(\.self)))
            #expect(names.allSatisfy { name in !succession.log(name).contains { $0.what == "lost" } })
            try succession.end()
            #expect(names.allSatisfy { succession.log($0).last?.what == "terminated" })
        }

        @Test("an exit while no watchdogd ran is noticed, with its status if the kernel reports it, and counts once")
        func endMeanwhile() throws {
            let succession = try start(["a": "", "b": ""])
            let pid = try #require(try succession.app("a").pid)
            let process = try Pidfd(opening: pid)
            try succession.killDaemon()
            try succession.scratch.write("", to: "a.log.exit")
            #expect(eventually { process.hasExited })
            unlink(succession.scratch["a.log.exit"])
            try succession.succeed()
            let app = try succession.wait(for: "a") { $0.state == .running && $0.restarts == 1 && $0.pid != pid }
            if kernelTellsExitStatus { #expect(app.lastIncident?.summary.contains("7") == true) }
            #expect(eventually { succession.log("a").filter { $0.what == "started" }.count == 2 })
            try succession.killDaemon()
            try succession.succeed()
            #expect(try succession.app("a").restarts == 1)
            #expect(try succession.app("b").restarts == 0)
            try succession.end()
        }

        @Test("a hang that began before the kill is killed at its deadline; one that has ended is not")
        func hangAcrossTheKill() throws {
            let succession = try start(["hangs": "Update=6s\n", "lives": "Update=6s\n"])
            let pid = try #require(try succession.app("hangs").pid)
            let lives = try #require(try succession.app("lives").pid)
            let process = try Pidfd(opening: pid)
            try succession.scratch.write("", to: "hangs.log.hang")
            #expect(eventually { succession.log("hangs").contains { $0.what == "hangs" } })
            // The ping after the last answered one counts.
            let last = try #require(succession.log("hangs").last { $0.what == "ping" }).at
            poll(nil, 0, 3_000)
            try succession.killDaemon()
            unlink(succession.scratch["hangs.log.hang"])
            let successor = Instant.now()
            try succession.succeed()
            #expect(eventually { process.hasExited })
            let death = Instant.now() - last
            print("from the last answer to the death: \(death)")
            #expect(death >= .seconds(6))
            #expect(Instant.now() - successor < .seconds(6), "the allowance is not granted again")
            let app = try succession.wait(for: "hangs") { $0.restarts == 1 && $0.lastIncident?.report != nil }
            #expect(app.lastIncident?.event == "scene-update")
            #expect(try succession.app("lives").pid == lives)
            #expect(names(in: succession.scratch["reports"]).count == 1)
            try succession.end()
        }

        @Test("a deadline that passed meanwhile is not granted again; an app that answered meanwhile is not killed")
        func deadlineMeanwhile() throws {
            let succession = try start(["hangs": "Update=3s\n", "lives": "Update=3s\n"])
            let lives = try #require(try succession.app("lives").pid)
            let process = try Pidfd(opening: try #require(try succession.app("hangs").pid))
            try succession.scratch.write("", to: "hangs.log.hang")
            #expect(eventually { succession.log("hangs").contains { $0.what == "hangs" } })
            // If killed immediately, watchdogd might not have sent the ping that stays unanswered.
            poll(nil, 0, 1_000)
            try succession.killDaemon()
            poll(nil, 0, 4_000)
            unlink(succession.scratch["hangs.log.hang"])
            #expect(!process.hasExited)
            let successor = Instant.now()
            try succession.succeed()
            #expect(eventually { process.hasExited })
            #expect(Instant.now() - successor < .seconds(3), "the allowance is not granted again")
            try succession.wait(for: "hangs") {
                $0.restarts == 1 && $0.state == .running && $0.lastIncident?.report != nil
            }
            #expect(try succession.app("lives").pid == lives)
            #expect(try succession.app("lives").lastIncident == nil)
            #expect(names(in: succession.scratch["reports"]).count == 1)
            try succession.end()
        }

        @Test("watchdogd that is asked to leave exits, and its apps keep running")
        func leaves() throws {
            let succession = try start(["a": "", "b": ""])
            let before = try pids(succession, ["a", "b"])
            try succession.killDaemon(SIGUSR1)
            #expect(succession.program.status == .exited(code: 0))
            #expect(succession.processes.count == 2)
            try succession.succeed()
            _ = try #require(pinged(succession, "a", after: .now()))
            try expectOneLife(succession, ["a", "b"], before)
            try succession.end()
        }

        @Test(
            "watchdogd that is asked to leave during a shutdown exits immediately, and all apps run again after the next start"
        )
        func leavesWhileItEnds() throws {
            let succession = try start(["quick": ""])
            let (isSet, isAsked) = (succession.scratch["set"], succession.scratch["asked"])
            let trap = "trap \"echo > \(isAsked); sleep 3; exit\" TERM; echo > \(isSet)"
            try succession.add([
                "slow": """
                [App]
                ExecStart=/bin/sh -c '\(trap); while :; do sleep 0.02; done'
                [Watchdog]
                Readiness=none
                """
            ])
            let before = try pids(succession, ["quick", "slow"]).compactMap(\.self)
            try #require(eventually { access(isSet, F_OK) == 0 })
            try succession.program.send(SIGTERM)
            try #require(eventually { access(isAsked, F_OK) == 0 })
            try succession.program.line("quick exited", on: .errors)
            try succession.killDaemon(SIGUSR1)
            #expect(succession.program.status == .exited(code: 0))
            #expect(succession.processes.contains(before[1]))
            try succession.succeed()
            for (name, pid) in zip(["quick", "slow"], before) {
                try succession.wait(for: name) { $0.state == .running && $0.pid != pid }
            }
            #expect(succession.log("quick").filter { $0.what == "started" }.count == 2)
            try succession.end()
        }

        @Test("an app stopped by hand stays stopped, and a wait for a restart continues")
        func stages() throws {
            let succession = try start(["stopped": ""])
            try succession.add([:])
            let fails =
                "[App]\nExecStart=/bin/sh -c 'echo $$$$ >> \(succession.scratch["fails"]); exit 3'\n"
                + "[Watchdog]\nReadiness=none\n[Restart]\nDelay=3s\nFactor=1\n"
            try succession.scratch.write(fails, to: "apps/fails.app")
            _ = try succession.client.reload()
            _ = try succession.client.terminate(AppRequest("stopped"))
            let waiting = try succession.wait(for: "fails") { $0.state == .waiting && $0.restarts == 1 }
            let next = try #require(waiting.nextLaunch)
            try succession.wait(for: "stopped") { $0.state == .stopped }
            try succession.killDaemon()
            try succession.succeed()
            #expect(try succession.app("stopped").state == .stopped)
            let again = try succession.app("fails")
            #expect(again.state == .waiting && again.restarts == 1)
            let difference = (again.nextLaunch?.microseconds ?? 0) - next.microseconds
            #expect(abs(difference) < 100_000, "the same instant")
            try succession.wait(for: "fails") { $0.restarts == 2 }
            try succession.end()
        }

        @Test("an app whose file has become invalid keeps running; one whose file is gone is terminated")
        func configurationChanged() throws {
            let succession = try start(["wrong": "", "gone": ""])
            let wrong = try #require(try succession.app("wrong").pid)
            let text = try #require(succession.scratch.read("apps/wrong.app"))
            try succession.killDaemon()
            unlink(succession.scratch["apps/gone.app"])
            try succession.scratch.write("[App]\nExecStrat=/bin/true\n", to: "apps/wrong.app")
            try succession.succeed()
            #expect(eventually { succession.log("gone").last?.what == "terminated" })
            #expect(eventually { succession.processes == [wrong] })
            _ = try #require(pinged(succession, "wrong", after: .now()))
            try succession.scratch.write(text, to: "apps/wrong.app")
            _ = try succession.client.reload()
            try expectOneLife(succession, ["wrong"], [wrong])
            try succession.end()
        }

        // MARK: - Re-execution

        @Test("SIGUSR2 executes the program now at that path; children stay children")
        func reexecution() throws {
            let scratch = try Scratch()
            let binary = scratch["watchdogd"]
            #expect(try Program(["/bin/cp", product("watchdogd"), binary]).end() == .exited(code: 0))
            let succession = try Succession([:], binary: binary)
            try succession.add(["a": succession.survivor("a"), "b": succession.survivor("b")])
            let before = try pids(succession, ["a", "b"])
            for _ in 0..<5 {
                // Like package managers: a different file under the same name.
                #expect(
                    try Program(["/bin/sh", "-c", "cp \(binary) \(binary).new && mv \(binary).new \(binary)"]).end()
                        == .exited(code: 0))
                try succession.reexecute()
                let wait = try #require(pinged(succession, "a", after: .now()))
                #expect(wait < Self.soon)
                #expect(ProcessFacts.executable(succession.program.pid) == binary)
                try expectOneLife(succession, ["a", "b"], before)
            }
            try succession.scratch.write("", to: "a.log.exit")
            let app = try succession.wait(for: "a") { $0.restarts >= 1 }
            #expect(app.lastIncident?.summary.contains("7") == true)
            unlink(succession.scratch["a.log.exit"])
            try succession.end()
        }

        @Test(
            "if the program cannot be executed, the running one continues with its current work",
            arguments: [
                ("rm $0", "No such file or directory (ENOENT)"), ("chmod 644 $0", "Permission denied (EACCES)"),
                ("rm $0; echo half > $0; chmod 755 $0", "Exec format error (ENOEXEC)"),
            ])
        func reexecutionFails(accident: String, reason: String) throws {
            let scratch = try Scratch()
            let binary = scratch["watchdogd"]
            #expect(try Program(["/bin/cp", product("watchdogd"), binary]).end() == .exited(code: 0))
            let succession = try Succession([:], binary: binary)
            try succession.add(["a": succession.survivor("a")])
            let before = try pids(succession, ["a"])
            let begun = scratch["begun"]
            let slow = "echo >> \(begun); until test -e \(scratch["end"]); do sleep 0.02; done"
            try succession.scratch.write(
                "[App]\nExecStart=/bin/sleep 1000\n[Watchdog]\nLaunch=1min\nReadiness=exec:\(slow)\n",
                to: "apps/probed.app")
            try succession.scratch.write(
                "[App]\nExecStart=/bin/sleep 1000\nExecStartPre=/bin/sh -c '\(slow)'\n[Watchdog]\nReadiness=none\n",
                to: "apps/prepared.app")
            _ = try succession.client.reload()
            #expect(eventually { scratch.read("begun")?.count == 2 })
            #expect(try Program(["/bin/sh", "-c", accident, binary]).end() == .exited(code: 0))
            try succession.program.send(SIGUSR2)
            let line = try succession.program.line("keeps running", on: .errors)
            #expect(line.contains("cannot execute \(binary): \(reason)"))
            _ = try #require(pinged(succession, "a", after: .now()))
            try expectOneLife(succession, ["a"], before)
            try scratch.write("", to: "end")
            for name in ["probed", "prepared"] { try succession.wait(for: name) { $0.state == .running } }
            #expect(scratch.read("begun")?.count == 2, "nothing was begun anew")
            try succession.end()
        }

        // MARK: - Missing state

        @Test("an unreadable or newer state costs the history, not the app", arguments: [false, true])
        func unreadable(isNewer: Bool) throws {
            let succession = try start(["a": "", "b": ""])
            let before = try pids(succession, ["a", "b"])
            try succession.killDaemon()
            try succession.damageState(isNewer: isNewer)
            try succession.succeed()
            for name in ["a", "b"] { _ = try #require(pinged(succession, name, after: .now())) }
            try expectOneLife(succession, ["a", "b"], before)
            #expect(try succession.program.line("found running", on: .errors).contains("its previous state is lost"))
            // It is watched again.
            try succession.killDaemon()
            try succession.succeed()
            try expectOneLife(succession, ["a", "b"], before)
            try succession.end()
        }

        @Test("without a service manager the processes are found again, and the lost channel is reported")
        func withoutStore() throws {
            let succession = try start(["a": "", "b": ""], keepsDescriptors: false)
            let before = try pids(succession, ["a", "b"])
            try succession.killDaemon()
            try succession.succeed()
            try expectOneLife(succession, ["a", "b"], before)
            #expect(eventually { succession.log("a").contains { $0.what == "lost" } })
            _ = try succession.program.line("the channel of", on: .errors)
            // Exits are noticed.
            kill(try #require(before[1]), SIGKILL)
            try succession.wait(for: "b") { $0.restarts == 1 && $0.state == .running }
            try succession.end()
        }

        // MARK: - Kills during other work

        @Test("kills in the middle of incidents: each death has one report, each launch is counted once")
        func incidents() throws {
            let succession = try Succession([:])
            let log = succession.scratch["launches"]
            let hang =
                "[App]\nExecStart=/bin/sh -c 'echo $$$$ >> \(log); exec \"$0\" --how sleep --after 0 >/dev/null 2>&1' "
                + "\(quoted(product("HangMain")))\n"
                + "[Watchdog]\nUpdate=300ms\nPing=50ms\n"
                + "[Restart]\nDelay=20ms\nMaxDelay=20ms\nLimit=infinity\n"
            try succession.add(["hang": hang])
            for _ in 0..<20 {
                poll(nil, 0, dice.number(in: 100...700))
                try succession.killDaemon()
                try succession.succeed()
            }
            do {
                _ = try succession.client.terminate(AppRequest("hang"))
            } catch {
                throw Failure("\(error)\n\(succession.said)\(succession.program.text(.errors))")
            }
            let app = try succession.wait(for: "hang") { $0.state == .stopped }
            let launched = (succession.scratch.read("launches") ?? "").split(separator: "\n").compactMap { Int($0) }
            try succession.end()
            // A file whose writer was killed has a temporary name.
            let files = names(in: succession.scratch["reports"]).filter { $0.hasPrefix("hang-") }
            let reported = try files.map { name in
                try ReportCoding.decode(contents(of: "\(succession.scratch["reports"])/\(name)") ?? []).body.pid
            }
            print("\(launched.count) launches, \(reported.count) reports")
            #expect(launched.count == Set(launched).count)
            // The last process may have been asked to exit before it could log.
            #expect(
                (launched.count - 1...launched.count).contains(app.restarts),
                "\(succession.said)\(succession.program.text(.errors))")
            #expect(Set(reported).count == reported.count, "no incident is reported twice: \(reported)")
            // The last one was asked to exit; all others hung.
            #expect(Set(launched.dropLast()).subtracting(reported).isEmpty, "each death is accounted for")
        }

        @Test("apps whose files are gone leave nothing: no process, no state, and no unwritten report")
        func filesGone() throws {
            let succession = try Succession([:])
            let names = (0..<8).map { "app\($0)" }
            // Each is killed and launched repeatedly, so reports of earlier launches wait to be written.
            let dies =
                "[App]\nExecStart=/bin/sleep 1000\n"
                + "[Watchdog]\nReadiness=none\nProbe=exec:false\nProbeInterval=100ms\nProbeThreshold=1\n"
                + "[Restart]\nPolicy=always\nDelay=1ms\nReset=1ms\nLimit=infinity\n"
            for _ in 0..<6 {
                for name in names { try succession.scratch.write(dies, to: "apps/\(name).app") }
                #expect(try succession.client.reload().added.count == names.count)
                poll(nil, 0, dice.number(in: 300...900))
                try succession.killDaemon()
                for name in names { unlink(succession.scratch["apps/\(name).app"]) }
                try succession.succeed()
                #expect(eventually { succession.processes.isEmpty })
                #expect(try eventually { try succession.client.list().apps.isEmpty })
                #expect(eventually { succession.stateFiles.isEmpty }, "\(succession.stateFiles)")
            }
            try succession.end()
        }
    }
}

/// Linux 6.15 reports the exit status of a process that was somebody else's child.
let kernelTellsExitStatus: Bool = {
    let parts = Machine.kernelRelease.split(separator: ".").prefix(2).compactMap { Int($0.prefix { $0.isNumber }) }
    return parts.count == 2 && (parts[0], parts[1]) >= (6, 15)
}()
