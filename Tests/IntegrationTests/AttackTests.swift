// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogReport

extension EndToEnd {
    /// An unprivileged user against root's daemon.
    @Suite(
        "A local user who attacks root's daemon",
        .enabled(if: hasAllRights, "only root's daemon has more rights than its apps"))
    struct AttackTests {
        /// Apps that are killed repeatedly, so that there are always launches, captures and reports.
        private func service(_ scratch: Scratch, _ more: [String: String] = [:]) throws -> Service {
            chmod(scratch.path, 0o755)
            let app = """
                [App]
                ExecStart=/bin/sleep 1000
                User=\(attackingUser)
                [Watchdog]
                Readiness=notify
                Launch=300ms
                [Restart]
                Delay=1ms
                MaxDelay=1ms
                Limit=infinity
                """
            let apps = Dictionary(uniqueKeysWithValues: (1...4).map { ("app-\($0)", app) })
            let service = try Service(apps.merging(more) { $1 }, scratch: scratch, isSystem: true)
            // With the mode that systemd and the package use.
            chmod(scratch["control"], 0o666)
            return service
        }

        /// Checks that after an attack kills continue, memory is bounded, and root is served.
        private func expectUnharmed(_ service: Service) throws {
            let before = try service.app("app-1").restarts
            try service.wait(for: "app-1") { $0.restarts > before + 1 }
            #expect((1..<64 << 10).contains(peakMemory(of: service.program.pid)), "KiB")
            #expect(try service.command("list").code == 0)
        }

        @Test(
            "cannot read, write, trace, signal or limit any process of watchdogd at any time",
            arguments: [(attackingUser, "yes"), ("65534", "no")])
        func processes(user: String, hasApps: String) throws {
            let scratch = try Scratch()
            let service = try service(scratch)
            try service.wait(for: "app-1") { $0.restarts >= 1 }
            let attacker = try startAttacker(scratch, ["look", "6", hasApps], as: user)
            #expect(try attacker.end() == .exited(code: 0), "\(attacker.text(.errors))")
            let said = attacker.text(.output)
            #expect(!said.contains("BREACH"), "\(said)")
            for process in ["watchdogd", "wd-launcher", "wd-closer", "wd-copier", "watchdogd-symbo"] {
                #expect(said.split(whereSeparator: \.isWhitespace).contains(Substring(process)), "\(said)")
            }
            try expectUnharmed(service)
            #expect(try service.end() == 0)
        }

        @Test("cannot lock out root with ten thousand connections")
        func connections() throws {
            let scratch = try Scratch()
            let service = try service(scratch)
            try service.wait(for: "app-1") { $0.restarts >= 1 }
            let attacker = try startAttacker(scratch, ["connect", "60", scratch["control"]])
            let began = Instant.now()
            #expect(try service.command("list").code == 0)
            #expect(Instant.now() - began < .seconds(10))
            #expect(try attacker.end() == .exited(code: 0), "\(attacker.text(.errors))")
            #expect(attacker.text(.output).hasPrefix("connected 10000"), "\(attacker.text(.output))")
            try expectUnharmed(service)
            #expect(try service.end() == 0)
        }

        @Test("cannot delay kills with descriptors that take long to close", arguments: ["control", "notify"])
        func descriptors(socket: String) throws {
            let scratch = try Scratch()
            let service = try service(
                scratch,
                [
                    "stays": "[App]\nExecStart=/bin/sleep 1000\nUser=\(attackingUser)\n"
                        + "[Watchdog]\nReadiness=notify\nLaunch=1h\n"
                ])
            try service.wait(for: "app-1") { $0.restarts >= 1 }
            let attack =
                socket == "control"
                ? ["pass_descriptors", "4", scratch["control"]]
                : ["pass_messages", "4", try notifySocket(of: "stays", service)]
            let attacker = try startAttacker(scratch, attack)
            #expect(try attacker.end() == .exited(code: 0), "\(attacker.text(.errors))")
            let said = attacker.text(.output)
            // With SO_PASSRIGHTS, since Linux 6.16, the sender gets EPERM.
            #expect(!said.hasPrefix("passed 0;") || said.contains("refused: [1"), "\(said)")
            try expectUnharmed(service)
            #expect(eventually { passedDescriptors(of: service) < 200 }, "closed in the end")
            #expect(try service.end() == 0)
        }

        @Test(
            "cannot prevent kills, re-execution or exit of watchdogd with a file that nobody can close",
            arguments: ["65534", attackingUser])
        func silentFile(of user: String) throws {
            let scratch = try Scratch()
            let bed = try DelayBed(scratch)
            let folder = try bed.mountSilent("flush", at: "silent")
            let service = try service(
                scratch,
                [
                    "stays": "[App]\nExecStart=/bin/sleep 1000\nUser=\(user)\n"
                        + "[Watchdog]\nReadiness=notify\nLaunch=1h\n"
                ])
            try service.wait(for: "app-1") { $0.restarts >= 1 }
            let socket = try notifySocket(of: "stays", service)
            let attacker = try startAttacker(scratch, ["pass_files", "1000", socket, "\(folder)/file"], as: user)
            // It cannot exit before the file system that it waits for.
            defer { umount2(folder, 1 /* MNT_FORCE: requests fail */) }
            try attacker.line("passed")
            try #require(eventually { stuckClosers().count == 4 }, "the processes of one user")
            try expectUnharmed(service)
            let closers = closers(of: service)
            for _ in 0..<2 {
                let before = image(of: service.program.pid)
                try service.program.send(SIGUSR2)
                try #require(eventually { image(of: service.program.pid) != before }, "it is executed again")
                try #require(eventually { (try? service.client.list()) != nil })
                try expectUnharmed(service)
                #expect(self.closers(of: service) == closers, "and what they count")
                #expect(stuckClosers().count == 4)
            }
            #expect(try service.end() == 0)
            let successor = try Service(scratch: scratch, isSystem: true)
            try expectUnharmed(successor)
            let left = stuckClosers()
            #expect(left.count >= 4, "all this time")
            let again = try startAttacker(
                scratch, ["pass_files", "1000", try notifySocket(of: "stays", successor), "\(folder)/file"], as: user)
            try again.line("passed")
            try expectUnharmed(successor)
            #expect(stuckClosers() == left, "its successor counts them")
            #expect(try successor.end() == 0)
            umount2(folder, 1 /* MNT_FORCE: requests fail */)
            #expect(eventually { stuckClosers().isEmpty })
            withExtendedLifetime((service, successor, bed, again)) {}
        }

        @Test(
            "cannot gain by having watchdogd killed: its successor starts immediately, and counts the unclosable descriptors",
            arguments: ["65534", attackingUser])
        func killedDaemon(of user: String) throws {
            let scratch = try Scratch()
            let bed = try DelayBed(scratch)
            let folder = try bed.mountSilent("flush", at: "silent")
            var daemons = [
                try service(
                    scratch,
                    [
                        "stays": "[App]\nExecStart=/bin/sleep 1000\nUser=\(user)\n"
                            + "[Watchdog]\nReadiness=notify\nLaunch=1h\n"
                    ])
            ]
            var attackers: [Program] = []
            // They cannot exit before the file system that they wait for.
            defer { umount2(folder, 1 /* MNT_FORCE: requests fail */) }
            var stuck: [Int32] = []
            for round in 0..<3 {
                let service = daemons[round]
                if round > 0 {
                    // An adopted app may have a socket that nobody reads.
                    let before = try service.wait(for: "stays") { $0.pid != nil }.pid
                    let restart = try service.command("restart", "--no-wait", "stays")
                    try #require(restart.code == 0, "\(restart.errors)")
                    try service.wait(for: "stays") { $0.pid != nil && $0.pid != before }
                }
                let socket = try notifySocket(of: "stays", service)
                attackers.append(
                    try startAttacker(scratch, ["pass_files", "1000", socket, "\(folder)/file"], as: user))
                try attackers[round].line("passed")
                if round == 0 {
                    try #require(eventually { stuckClosers().count == 4 }, "the processes of one user")
                    stuck = stuckClosers()
                }
                try expectUnharmed(service)
                #expect(stuckClosers() == stuck, "no more than before, \(round)")
                try service.program.send(SIGKILL)
                try service.program.end()
                daemons.append(try Service(scratch: scratch, isSystem: true))
            }
            try expectUnharmed(daemons[3])
            #expect(stuckClosers() == stuck)
            #expect(try daemons[3].end() == 0)
            umount2(folder, 1 /* MNT_FORCE: requests fail */)
            #expect(eventually { stuckClosers().isEmpty })
            withExtendedLifetime((daemons, attackers, bed)) {}
        }

        /// The processes that close strangers' descriptors and wait for FUSE: fs/fuse/dev.c.
        private func stuckClosers() -> [Int32] {
            names(in: "/proc").compactMap { Int32($0) }.filter {
                ProcessStat.read($0)?.name.hasPrefix("wd-c-") == true
                    && WaitChannel.read($0, thread: $0) == "request_wait_answer"
            }
        }

        /// The children of a daemon that fork such processes.
        private func closers(of service: Service) -> Set<Int32> {
            Set(Procfs.children(of: service.program.pid).filter { ProcessStat.read($0)?.name == "wd-closer" })
        }

        /// The path of an app's notify socket.
        private func notifySocket(of app: String, _ service: Service) throws -> String {
            let process = try #require(try service.wait(for: app) { $0.pid != nil }.pid)
            var found: Substring?
            _ = eventually {
                let environment = contents(of: "/proc/\(process)/environ") ?? []
                let variables = environment.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                found = variables.first { $0.hasPrefix("NOTIFY_SOCKET=") }?.dropFirst("NOTIFY_SOCKET=".count)
                return found != nil
            }
            return String(try #require(found))
        }

        /// The number of descriptors of the kinds that the attacker passes, 208 at a time.
        ///
        /// Snapshots for reports in progress are files of other kinds.
        private func passedDescriptors(of service: Service) -> Int {
            let folder = "/proc/\(service.program.pid)/fd"
            return names(in: folder).count {
                let target = SymbolicLink.target("\(folder)/\($0)") ?? ""
                return target == "/dev/null" || target.hasPrefix("socket:")
            }
        }

        @Test("cannot have another process killed in place of its own app")
        func mainProcess() throws {
            let scratch = try Scratch()
            let victim = try Program(["sleep", "1000"])
            let claim =
                "import os,socket,time; s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM);"
                + "s.connect(os.environ['NOTIFY_SOCKET']);"
                + "[s.send(b'MAINPID=%d' % p) for p in (1, os.getppid(), \(victim.pid), 0, -1, 2**31, 2**63)];"
                + "s.send(b'READY=1\\nWATCHDOG=1'); time.sleep(1000)"
            try scratch.write(claim, to: "claim.py")
            let service = try service(
                scratch,
                [
                    "claims": "[App]\nExecStart=/usr/bin/python3 \(scratch["claim.py"])\nUser=\(attackingUser)\n"
                        + "[Watchdog]\nReadiness=notify\nUpdate=500ms\n[Restart]\nPolicy=never\n"
                ])
            let app = try service.wait(for: "claims") { $0.lastIncident?.report != nil }
            #expect(app.lastIncident?.event == "scene-update")
            #expect(!victim.hasEnded)
            try expectUnharmed(service)
            #expect(try service.end() == 0)
        }

        @Test("cannot prevent anybody else's kill by filling the disk; the report is lost, which is announced")
        func fullDisk() throws {
            let scratch = try Scratch()
            let disk = try scratch.makeDirectory("reports")
            let mount = try Program(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0755", "watchdogd-test", disk])
            #expect(try mount.end() == .exited(code: 0), "\(mount.text(.errors))")
            defer { umount2(disk, Int32(MNT_DETACH)) }
            let service = try service(scratch)
            try service.wait(for: "app-2") { $0.restarts >= 4 }
            let filler = try Program(["dd", "if=/dev/zero", "of=\(scratch["reports/filler"])", "bs=4k"])
            #expect(try filler.end() == .exited(code: 1), "no space is left")
            try expectUnharmed(service)
            unlink(scratch["reports/filler"])
            try expectUnharmed(service)
            #expect(try service.end() == 0)
            #expect(names(in: disk).allSatisfy { $0.hasSuffix(".ips") }, "nothing half-written: \(names(in: disk))")
            #expect(service.program.text(.errors).contains("No space left on device"))
        }
    }
}
