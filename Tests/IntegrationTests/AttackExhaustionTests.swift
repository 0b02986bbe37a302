// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogReport

extension EndToEnd {
    @Suite(
        "A local user who exhausts a resource",
        .enabled(if: hasAllRights, "only root's daemon has more rights than its apps"))
    struct AttackExhaustionTests {
        /// In addition to the apps' user: IDs without names, and outside those that watchdogd reserves.
        private static let users = [attackingUser, "61101", "61102", "61103"]

        /// Hangs from the start of every launch.
        private static let hanging = """
            [App]
            ExecStart=/bin/sleep 1000
            User=\(attackingUser)
            Enabled=no
            [Watchdog]
            Readiness=notify
            Launch=500ms
            [Restart]
            Policy=never
            """

        private func service(_ apps: [String: String], _ scratch: Scratch) throws -> Service {
            chmod(scratch.path, 0o755)
            let service = try Service(apps, options: [], scratch: scratch, isSystem: true)
            // With the mode that systemd and the package use.
            chmod(scratch["control"], 0o666)
            return service
        }

        private func descriptors(of service: Service) -> Int { names(in: "/proc/\(service.program.pid)/fd").count }

        private func limitDescriptors(of service: Service, to count: Int) throws {
            let limiter = try Program(["prlimit", "--pid", "\(service.program.pid)", "--nofile=\(count):"])
            try #require(try limiter.end().code == 0, "\(limiter.text(.errors))")
        }

        @Test(
            "cannot use up the descriptors that launches, captures and reports need, with the connections of four users"
        )
        func connections() throws {
            let scratch = try Scratch()
            let service = try service(["hang": Self.hanging], scratch)
            let idle = descriptors(of: service)
            // Room for the attackers' connections, for the reserve of a launch, and for a capture.
            try limitDescriptors(of: service, to: idle + 48 + 48 + 32)
            let attackers = try Self.users.map {
                try startAttacker(scratch, ["connect", "10", scratch["control"]], as: $0)
            }
            #expect(eventually { descriptors(of: service) >= idle + 40 }, "their connections are there")
            let incident = try service.incident(of: "hang")
            #expect(incident.event == "process-launch", "\(incident.summary)")
            let report = try service.wait(for: "hang") { $0.lastIncident?.report != nil }.lastIncident?.report
            let bytes = contents(of: try #require(report)) ?? []
            #expect(try ReportCoding.decode(bytes).body.threads.first?.frames.isEmpty == false)
            for attacker in attackers {
                #expect(try attacker.end() == .exited(code: 0), "\(attacker.text(.errors))")
            }
            #expect(try service.end() == 0)
        }

        @Test("cannot use up the last descriptors: a hang is killed and reported, and root is served afterward")
        func lastDescriptors() throws {
            let scratch = try Scratch()
            try scratch.write(
                """
                from wd import *
                notify("READY=1", "WATCHDOG=1")
                while not os.path.exists(sys.argv[1]):
                    notify("WATCHDOG=1")
                    time.sleep(0.05)
                hang()
                """, to: "app.py")
            let app = """
                [App]
                ExecStart=/usr/bin/python3 \(scratch["app.py"]) \(scratch["stop"])
                Environment=\(quoted("PYTHONPATH=\(subjects)")) PYTHONDONTWRITEBYTECODE=1
                [Watchdog]
                Readiness=notify
                Update=700ms
                [Restart]
                Policy=never
                """
            let service = try service(["app": app], scratch)
            let process = try #require(try service.wait(for: "app") { $0.state == .running }.pid)
            // The attackers could have 48 connections.
            try limitDescriptors(of: service, to: descriptors(of: service) + 40)
            let attackers = try Self.users.map { user in
                try startAttacker(scratch, ["connect", "60", scratch["control"]], as: user)
            }
            try service.program.line("Too many open files", on: .errors)
            try scratch.write("", to: "stop")
            #expect(eventually { kill(process, 0) != 0 })
            #expect(eventually { names(in: scratch["reports"]).contains { $0.hasSuffix(".ips") } })
            for attacker in attackers {
                try attacker.send(SIGKILL)
                try attacker.end()
            }
            let killed = try service.wait(for: "app") { $0.lastIncident?.report != nil }
            #expect(killed.lastIncident?.event == "scene-update")
            let bytes = contents(of: try #require(killed.lastIncident?.report)) ?? []
            #expect(try ReportCoding.decode(bytes).body.pid == Int(process))
            #expect(try service.command("list").code == 0)
            #expect(try service.end() == 0)
        }

        @Test("costs reports by filling the disk, with one line each, and the next report is complete")
        func disk() throws {
            let scratch = try Scratch()
            let disk = try scratch.makeDirectory("reports")
            let mount = try Program(["mount", "-t", "tmpfs", "-o", "size=4m,mode=1777", "watchdogd-test", disk])
            try #require(try mount.end() == .exited(code: 0), "\(mount.text(.errors))")
            defer { umount2(disk, Int32(MNT_DETACH)) }
            let service = try service(["hang": Self.hanging], scratch)
            _ = try service.incident(of: "hang")
            let whole = try service.wait(for: "hang") { $0.lastIncident?.report != nil }.lastIncident?.report
            let before = names(in: disk)
            let filler = try startAttacker(scratch, ["fill", "20", scratch["reports/filler"]])
            #expect(try filler.end() == .exited(code: 0), "\(filler.text(.errors))")
            #expect(filler.text(.output) == "full\n")
            #expect(try service.incident(of: "hang").report == nil, "it was killed all the same")
            try service.program.line("no report could be written", on: .errors)
            #expect(names(in: disk) == (before + ["filler"]).sorted(), "nothing half-written")
            unlink(scratch["reports/filler"])
            _ = try service.incident(of: "hang")
            let next = try service.wait(for: "hang") { $0.lastIncident?.report != nil }.lastIncident?.report
            #expect(next != whole)
            for report in [whole, next] {
                #expect(throws: Never.self) { try ReportCoding.decode(contents(of: report ?? "") ?? []) }
            }
            #expect(try service.end() == 0)
            let lines = service.program.text(.errors).split(separator: "\n").filter { $0.contains("No space left") }
            #expect(lines.count == 1, "\(lines)")
            #expect(lines.first?.contains("no report could be written: cannot write ") == true, "\(lines)")
        }
    }
}
