// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogReport

extension EndToEnd {
    @Suite(
        "A local user whose memory lies in a file system that never answers",
        .enabled(if: hasAllRights && access("/dev/fuse", R_OK | W_OK) == 0, "needs root and FUSE"))
    struct AttackMemoryTests {
        /// Hangs on SIGUSR1, and is launched again.
        private static func app(_ peer: String, _ mode: String, as user: String, restart: String = "always") -> String {
            """
            [App]
            ExecStart=\(peer) \(mode)
            User=\(user)
            [Watchdog]
            Ping=100ms
            Update=600ms
            [Restart]
            Policy=\(restart)
            Delay=1ms
            MaxDelay=1ms
            Limit=infinity
            """
        }

        /// A daemon with one healthy app, and apps of another user whose stack pointers lead into the silent file.
        private func start(_ bed: DelayBed, user: String, attackers: Int) throws -> Service {
            let folder = try bed.mountSilent("read", at: "silent")
            chmod(bed.scratch.path, 0o755)
            let peer = bed.scratch["peer"]
            var apps = ["good": Self.app(peer, "hang", as: "daemon")]
            for number in 1...attackers {
                // If relaunched, it would block in open(2) on the page that is being read.
                apps["bad-\(number)"] = Self.app(peer, "stack \(folder)/file", as: user, restart: "never")
            }
            let service = try Service(apps, options: [], scratch: bed.scratch, isSystem: true)
            for name in apps.keys { try service.wait(for: name) { $0.isAnswering == true } }
            return service
        }

        /// Makes an app hang, and returns the report.
        private func incident(of name: String, _ service: Service) throws -> Report {
            let app = try service.wait(for: name) { $0.state == .running && $0.isAnswering == true }
            kill(try #require(app.pid), SIGUSR1)
            let next = try service.wait(for: name) {
                $0.lastIncident?.report != nil && $0.lastIncident?.time != app.lastIncident?.time
            }
            return try ReportCoding.decode(contents(of: try #require(next.lastIncident?.report)) ?? [])
        }

        private func expectWholeReport(
            _ service: Service, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let body = try incident(of: "good", service).body
            let notes = body.linux?.notes ?? []
            #expect(body.threads.first?.frames.isEmpty == false, "\(notes)", sourceLocation: sourceLocation)
            let gaps = notes.filter { $0.contains("the page at 0x") || $0.contains("not returned") }
            #expect(gaps == [], sourceLocation: sourceLocation)
        }

        /// The processes that wait for the silent file.
        private func stuckCopiers() -> [Int32] {
            names(in: "/proc").compactMap { Int32($0) }.filter { pid in
                guard let stat = ProcessStat.read(pid), stat.name == "wd-copier" else { return false }
                return stat.state == .uninterruptible
            }
        }

        @Test(
            "costs no other user a capture, and prevents root's watchdogd neither from exiting nor from restarting",
            arguments: ["65534", attackingUser])
        func stacks(user: String) throws {
            let bed = try DelayBed(Scratch())
            // The daemon's processes cannot exit before the file system that they wait for.
            defer { bed.endDelays() }
            let service = try start(bed, user: user, attackers: 3)
            try expectWholeReport(service)
            let notes = try incident(of: "bad-1", service).body.linux?.notes ?? []
            #expect(notes.contains { $0.contains("the page at 0x") }, "\(notes)")
            try #require(eventually { !stuckCopiers().isEmpty }, "\(notes)")
            let lost = stuckCopiers()
            for name in ["bad-2", "bad-3"] {
                // No further copier is lost to memory known to be silent, and the report contains the rest.
                #expect(try incident(of: name, service).body.threads.isEmpty == false)
                try expectWholeReport(service)
            }
            #expect(stuckCopiers() == lost)
            #expect(try service.command("status", "good").output.contains("not returned") == false)
            let threads = names(in: "/proc/\(service.program.pid)/task").compactMap { Int32($0) }
            for thread in threads {
                #expect(ProcessStat.read(service.program.pid, thread: thread)?.state != .uninterruptible)
            }
            // It is reaped completely: none of its threads is left, although the file is still silent.
            #expect(try service.end() == 0)
            #expect(stuckCopiers() == lost)
            for number in 1...3 { service.remove("bad-\(number)") }
            let successor = try Service(scratch: bed.scratch, isSystem: true)
            try expectWholeReport(successor)
            #expect(try successor.end() == 0)
            #expect(stuckCopiers().starts(with: lost), "all this time")
            bed.endDelays()
            #expect(eventually { stuckCopiers().isEmpty })
            withExtendedLifetime((service, successor)) {}
        }
    }
}
