// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    /// Uses the test's own journald, and a kernel that appears to pass cores to systemd-coredump.
    @Suite("Crashes that systemd-coredump handles")
    struct CrashJournalTests {
        private static let canRun: Bool = {
            guard case .file = CorePattern.current() else {
                print("skipped: kernel.core_pattern names no file")
                return false
            }
            let isPossible =
                hasAllRights && ["unshare", "setpriv", "journalctl"].allSatisfy { isInstalled($0) }
                && access("/usr/lib/systemd/systemd-journald", X_OK) == 0
            if !isPossible { print("skipped: a journald of one's own needs root, unshare, setpriv and systemd") }
            return isPossible
        }()

        /// A file hides the kernel's setting; the kernel still writes core files.
        private static let hide =
            "printf '|/usr/lib/systemd/systemd-coredump %%P %%u\\n' >/run/pattern; "
            + "mount --bind /run/pattern /proc/sys/kernel/core_pattern"

        /// Writes the entry that systemd-coredump would write, and aborts.
        private static let program = """
            import resource, socket, struct
            resource.setrlimit(resource.RLIMIT_CORE, (1 << 28, 1 << 28))
            os.chdir(sys.argv[1])
            pid = os.getpid()
            stacks = f\"\"\"Process {pid} (album) of user 0 dumped core.

            Stack trace of thread {pid}:
            #0  0x0000557e0a6d1219 parse_header (album + 0x1219)
            #1  0x0000557e0a6d139f main (album + 0x139f)
            \"\"\".encode()
            entry = f"MESSAGE_ID=fc2e22bc6ee647b68b6ab5d4d19e2d10\\nCOREDUMP_PID={pid}\\nCOREDUMP_SIGNAL=6\\n".encode()
            entry += b"COREDUMP_FILENAME=/var/lib/systemd/coredump/core.album.zst\\n"
            entry += b"MESSAGE\\n" + struct.pack("<Q", len(stacks)) + stacks + b"\\n"
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
                if sys.argv[2] == "yes":
                    journal.sendto(entry, "/run/systemd/journal/socket")
            os.abort()
            """

        private func run(entry: String) throws -> (report: Report, core: [String]) {
            let scratch = try Scratch()
            let program = try Program(
                ["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "\(subjects)/journal.sh"]
                    + [scratch["journal.json"], Self.hide]
                    + [product("watchdogd"), "run", "--name", "album", "--reports", scratch["reports"], "--"]
                    + python(Self.program, scratch.path, entry))
            let status = try program.end()
            #expect(status.code == 128 + SIGABRT, "\(program.text(.errors))")
            let name = try #require(names(in: scratch["reports"]).first, "\(program.text(.errors))")
            let report = try ReportCoding.decode(contents(of: scratch["reports/\(name)"]) ?? [])
            return (report, names(in: scratch.path).filter { $0.hasPrefix("core") })
        }

        @Test("The stacks come from the journal entry, and the report states that", .enabled(if: canRun))
        func entry() throws {
            let (report, core) = try run(entry: "yes")
            let crash = try #require(report.body.linux?.crash)
            #expect(crash.stackSource == .journal)
            #expect(
                crash.stacks
                    == "from systemd-coredump's entry in the journal (core: /var/lib/systemd/coredump/core.album.zst)")
            #expect(crash.thread == report.body.pid)
            #expect(report.body.linux?.verdict.line == "Crashed: SIGABRT in parse_header")
            #expect(report.body.threads[0].frames.compactMap(\.symbol) == ["parse_header", "main"])
            #expect(report.body.linux?.capture?.method == .journal)
            #expect(core.count == 1, "the kernel's own is nobody's business")
        }

        @Test("Without an entry, the report is written after a wait, and names the missing entry", .enabled(if: canRun))
        func none() throws {
            let (report, _) = try run(entry: "no")
            let crash = try #require(report.body.linux?.crash)
            #expect(crash.stackSource == CrashDetails.StackSource.none)
            #expect(
                crash.stacks == "none: the journal has no systemd-coredump entry for pid \(report.body.pid)")
            #expect(report.body.linux?.verdict.line == "Crashed: SIGABRT")
        }
    }
}
