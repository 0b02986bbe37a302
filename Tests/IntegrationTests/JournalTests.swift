// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogLinux
import WatchdogPolicy
import WatchdogRendering
import WatchdogReport

extension EndToEnd {
    /// Uses the test's own journald.
    @Suite("The journal")
    struct JournalTests {
        private struct Entry: Decodable {
            var MESSAGE: String?
            var MESSAGE_ID: String?
            var PRIORITY: String?
            var SYSLOG_IDENTIFIER: String?
            var WATCHDOGD_KIND: String?
            var WATCHDOGD_APP: String?
            var WATCHDOGD_PID: String?
            var WATCHDOGD_REPORT: String?
            var WATCHDOGD_REPORT_DATA: String?
            var WATCHDOGD_REPORT_OMITTED: String?
            var WATCHDOGD_INCIDENT: String?
            var WATCHDOGD_VERDICT: String?
            var OBJECT_PID: String?
            var OBJECT_COMM: String?
            var _PID: String?
            var _TRANSPORT: String?
        }

        private static let script = "\(subjects)/journal.sh"

        /// A program that prints and hangs, using a service's protocol.
        private static let hanging = python(
            """
            notify("READY=1\\nWATCHDOG=1")
            print("opening the album", flush=True)
            print("<4>the database is slow, password=hunter2", flush=True)
            print("Thread 0 Crashed:", file=sys.stderr, flush=True)
            hang()
            """)

        private static let canRun: Bool = {
            let programs = ["unshare", "setpriv", "journalctl", "systemd-cat"]
            let isPossible =
                hasAllRights && programs.allSatisfy { isInstalled($0) }
                && access("/usr/lib/systemd/systemd-journald", X_OK) == 0
            if !isPossible { print("skipped: a journald of one's own needs root, unshare, setpriv and systemd") }
            return isPossible
        }()

        /// - Parameters:
        ///   - asService: whether watchdogd is started as systemd starts a service.
        ///   - before: shell that runs before watchdogd.
        private func run(
            asService: Bool, before: String = "", _ options: [String] = [], program: [String] = hanging
        ) throws -> (exitCode: Int32?, entries: [Entry], errors: String, scratch: Scratch) {
            let scratch = try Scratch()
            let own =
                [product("watchdogd"), "run", "--name", "album", "--reports", scratch["reports"], "--update", "700ms"]
                + options + ["--"] + program
            let start =
                asService
                ? "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) SYSTEMD_EXEC_PID=$$ exec \"$@\"" : "exec \"$@\""
            let program = try Program(
                ["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", Self.script]
                    + [scratch["journal.json"], before] + (asService ? ["systemd-cat", "-t", "album-unit"] : [])
                    + shell(start) + own)
            let status = try program.end()
            return (status.code, try entries(in: scratch), program.text(.errors), scratch)
        }

        private func entries(in scratch: Scratch) throws -> [Entry] {
            let lines = (scratch.read("journal.json") ?? "").split(separator: "\n")
            return try lines.map { try JSONDecoder().decode(Entry.self, from: Data($0.utf8)) }
        }

        /// A busy machine adds messages.
        private func kinds(_ entries: [Entry]) -> [String] {
            entries.compactMap(\.WATCHDOGD_KIND).filter { !["credited", "overslept", "hung"].contains($0) }
        }

        private func report(in scratch: Scratch) throws -> Report {
            let name = try #require(names(in: scratch["reports"]).first)
            return try ReportCoding.decode(contents(of: scratch["reports/\(name)"]) ?? [])
        }

        @Test("as a service, a kill is an entry with its id, its report and the verdict", .enabled(if: canRun))
        func service() throws {
            let run = try run(asService: true)
            #expect(run.exitCode == 137)
            let own = run.entries.filter { $0.SYSLOG_IDENTIFIER == "watchdogd" }
            #expect(kinds(own) == ["launched", "ready", "exited", "killed"], "\(run.errors)")
            let kill = try #require(own.last)
            #expect(kill.MESSAGE_ID == "625be8b805824436a7005458c4889c7e")
            #expect(kill.PRIORITY == "3")
            #expect(kill.WATCHDOGD_APP == "album")
            #expect(kill.WATCHDOGD_VERDICT?.contains(" · blocked ") == true, "\(kill.WATCHDOGD_VERDICT ?? "")")
            #expect(kill.WATCHDOGD_REPORT?.hasPrefix(run.scratch["reports/album-"]) == true)
            let start = "album[\(kill.WATCHDOGD_PID ?? "")] killed: did not answer within"
            #expect(kill.MESSAGE?.hasPrefix(start) == true)
            #expect(own.first?.OBJECT_PID == kill.WATCHDOGD_PID)
            #expect(own.first?.OBJECT_COMM != nil)
            // Standard error also leads to the journal, where nothing is repeated.
            #expect(!run.entries.contains { $0._TRANSPORT == "stdout" && $0.MESSAGE?.contains("0x8badf00d") == true })
        }

        /// As in a container of systemd-nspawn, where a unit with `ProtectKernelTunables=` sees the host's boot id.
        private static let otherBoot =
            "echo 01234567-89ab-4def-8123-456789abcdef >/run/boot; mount --bind /run/boot /proc/sys/kernel/random/boot_id"

        @Test(
            "a report has the last lines that the app printed to the journal, even under a different boot id",
            .enabled(if: canRun), arguments: ["", otherBoot])
        func log(before: String) throws {
            let run = try run(asService: true, before: before)
            let report = try report(in: run.scratch)
            let log = try #require(report.body.linux?.log)
            #expect(log.source == .journal)
            #expect(
                log.lines.map(\.text) == [
                    "opening the album", "the database is slow, password=<redacted>", "Thread 0 Crashed:",
                ])
            #expect(log.lines.allSatisfy { $0.microseconds != nil })
            let text = TextRenderer.render(report)
            #expect(text.contains("\nFiltered syslog:\n"))
            #expect(text.split(separator: "\n").count { $0 == "Thread 0 Crashed:" } == 1)
        }

        @Test("the entry of a kill contains the report byte for byte, unless that is turned off", .enabled(if: canRun))
        func data() throws {
            let with = try run(asService: true)
            let kill = try #require(with.entries.last { $0.WATCHDOGD_KIND == "killed" }, "\(with.errors)")
            #expect(kill.WATCHDOGD_REPORT_DATA == with.scratch.read("reports/\(names(in: with.scratch["reports"])[0])"))
            #expect(kill.WATCHDOGD_INCIDENT == (try report(in: with.scratch)).metadata.incidentID)
            #expect(kill.WATCHDOGD_REPORT_DATA?.contains("hunter2") == false)
            #expect(with.entries.count { $0.WATCHDOGD_REPORT_DATA != nil } == 1)
            let without = try run(asService: true, ["--reports-in-journal", "no"])
            #expect(without.entries.contains { $0.WATCHDOGD_KIND == "killed" })
            #expect(without.entries.allSatisfy { $0.WATCHDOGD_REPORT_DATA == nil })
            #expect(without.entries.allSatisfy { $0.WATCHDOGD_REPORT_OMITTED == nil })
        }

        /// Answers pings, except for 1.5 s.
        private static let recovering = python(
            """
            end = channel()
            end.send(b"HELLO=1\\n")
            end.send(b"READY=1\\n")
            quiet, over = time.monotonic() + 0.3, time.monotonic() + 3
            while time.monotonic() < over:
                line = end.recv(4096).decode()
                if quiet and time.monotonic() > quiet:
                    quiet = None
                    time.sleep(1.5)
                for word in line.split():
                    if word.startswith("PING="):
                        end.send(f"PONG={word[5:]}\\n".encode())
            os._exit(0)
            """)

        @Test("a hang that ends by itself is an entry with its report", .enabled(if: canRun))
        func hang() throws {
            let options = ["--update", "20s", "--ping", "100ms", "--hang-reports", "500ms"]
            let run = try run(asService: true, options, program: Self.recovering)
            #expect(run.exitCode == 0, "\(run.errors)")
            let hang = try #require(run.entries.first { $0.WATCHDOGD_KIND == "hangReported" }, "\(run.errors)")
            #expect(hang.MESSAGE_ID == "43acd3b0f8ca4e12b167bf3b02e718d2")
            let name = try #require(names(in: run.scratch["reports"]).first)
            #expect(hang.WATCHDOGD_REPORT_DATA == run.scratch.read("reports/\(name)"))
        }

        /// Waits for a file; its name, its status and its file names imitate fields of an entry.
        private static let forging = python(
            """
            import fcntl
            name = "a\\nPRIORITY=0\\nWATCHDOGD_INCIDENT=forged"
            held, file = open(name, "w"), open(name)
            fcntl.flock(held, fcntl.LOCK_EX)
            with open("/proc/self/comm", "w") as own: own.write("x\\nPRIORITY=0")
            print("WATCHDOGD_KIND=forged", flush=True)
            notify("READY=1", "STATUS=x\\nWATCHDOGD_KIND=forged", "WATCHDOG=1")
            fcntl.flock(file, fcntl.LOCK_EX)
            """)

        @Test("names, files and status of a program cannot forge a field of an entry", .enabled(if: canRun))
        func forgedFields() throws {
            let place = try Scratch()
            let run = try run(asService: true, ["--chdir", place.path], program: Self.forging)
            #expect(run.exitCode == 137, "\(run.errors)")
            let own = run.entries.filter { $0.SYSLOG_IDENTIFIER == "watchdogd" }
            #expect(kinds(own) == ["launched", "ready", "exited", "killed"], "\(run.errors)")
            let kill = try #require(own.last)
            #expect(kill.PRIORITY == "3")
            #expect(run.entries.allSatisfy { $0.WATCHDOGD_KIND != "forged" && $0.WATCHDOGD_INCIDENT != "forged" })
            // Its text is there, as a part of other fields.
            let verdict = try #require(kill.WATCHDOGD_VERDICT)
            #expect(verdict.contains("forged") && !verdict.contains("\n"), "\(verdict)")
            let lines = try #require(kill.MESSAGE).split(separator: "\n")
            #expect(!lines.contains { $0.hasPrefix("PRIORITY=") || $0.hasPrefix("WATCHDOGD_") }, "\(lines)")
            #expect(run.entries.contains { $0._TRANSPORT == "stdout" && $0.MESSAGE == "WATCHDOGD_KIND=forged" })
        }

        /// Lives until journald has looked it up.
        private static let imitation = """
            import socket, subprocess
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
                entry = b"MESSAGE_ID=625be8b805824436a7005458c4889c7e\\nWATCHDOGD_INCIDENT=AAAA\\nMESSAGE=x\\n"
                journal.sendto(entry, "/run/systemd/journal/socket")
            subprocess.run(["journalctl", "--sync"], check=True)
            """

        @Test("the report is read from the journal if journald's fields confirm its sender", .enabled(if: canRun))
        func reading() throws {
            let scratch = try Scratch()
            let lines = """
                watchdogd=$1 reports=$2 imitation=$3
                shift 3
                systemd-cat -t album-unit /bin/sh -c \
                    'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) SYSTEMD_EXEC_PID=$$ exec "$@"' - \
                    "$watchdogd" run --name album --reports "$reports" --update 700ms -- "$@"
                journalctl --sync
                /usr/bin/python3 -c "$imitation"
                "$watchdogd" report list --journal
                "$watchdogd" report export --format ips --journal >"$reports/exported"
                """
            let program = try Program(
                ["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", Self.script]
                    + [scratch["journal.json"], ""]
                    + shell(lines, product("watchdogd"), scratch["reports"], Self.imitation)
                    + Self.hanging)
            #expect(try program.end().code == 0, "\(program.text(.errors))")
            let text = program.text(.output)
            #expect(text.split(separator: "\n").count == 2, "\(text)\(program.text(.errors))")
            #expect(text.contains("album"))
            #expect(program.text(.errors).contains("1 entry imitates watchdogd's and was ignored"))
            let name = try #require(names(in: scratch["reports"]).first { $0.hasSuffix(".ips") })
            #expect(scratch.read("reports/exported") == scratch.read("reports/\(name)"))
        }

        @Test("a run started by hand does not use the journal", .enabled(if: canRun))
        func byHand() throws {
            let run = try run(asService: false)
            #expect(run.exitCode == 137)
            #expect(run.errors.contains("watchdogd: album["))
            #expect(!run.entries.contains { $0.SYSLOG_IDENTIFIER == "watchdogd" })
            #expect(try report(in: run.scratch).body.linux?.log == nil)
        }

        @Test("a stopped journald delays no kill, and nothing is lost when it continues", .enabled(if: canRun))
        func stoppedJournal() throws {
            let run = try run(asService: true, before: "kill -STOP \"$journald\"")
            #expect(run.exitCode == 137)
            let own = run.entries.filter { $0.SYSLOG_IDENTIFIER == "watchdogd" }
            #expect(kinds(own) == ["launched", "ready", "exited", "killed"])
            let elapsed = try #require(try report(in: run.scratch).body.linux?.allowance.elapsedNanoseconds)
            #expect(elapsed < 10_000_000_000)
        }

        @Test("a report has the last lines that the app printed to a file since its launch")
        func file() throws {
            let scratch = try Scratch()
            let output = try scratch.write("of somebody else\n", to: "output")
            let own = [
                product("watchdogd"), "run", "--name", "album", "--reports", scratch["reports"], "--update", "700ms",
                "--quiet", "--",
            ]
            let command = shell("out=$1; shift; exec \"$@\" >>\"$out\" 2>&1", output) + own + Self.hanging
            #expect(try Program(command).end().code == 137)
            let log = try #require(try report(in: scratch).body.linux?.log)
            #expect(log.source == .file)
            #expect(
                log.lines.map(\.text) == [
                    "opening the album", "<4>the database is slow, password=<redacted>", "Thread 0 Crashed:",
                ])
        }

        @Test("the daemon's apps print to the journal under their names, and status shows that", .enabled(if: canRun))
        func daemon() throws {
            let scratch = try Scratch()
            _ = try scratch.makeDirectory("apps")
            try scratch.write(
                """
                from wd import *
                notify("READY=1\\nWATCHDOG=1")
                print("JOURNAL_STREAM", os.environ["JOURNAL_STREAM"] == "%d:%d" % os.fstat(2)[2:0:-1], flush=True)
                print("<3>the disk is full", file=sys.stderr, flush=True)
                hang()
                """, to: "hang.py")
            try scratch.write(
                """
                [App]
                ExecStart=/usr/bin/python3 \(scratch["hang.py"])
                Environment=\(quoted("PYTHONPATH=\(subjects)")) PYTHONDONTWRITEBYTECODE=1
                [Watchdog]
                Readiness=notify
                Update=700ms
                [Restart]
                Policy=never
                """, to: "apps/album.app")
            let serve = """
                "$1" serve --system --config "$2/apps" --control "$2/control" --reports "$2/reports" &
                n=0
                until "$1" status album --control "$2/control" 2>/dev/null | grep -q "disk is full"; do
                    n=$((n + 1)); [ $n -lt 300 ] || break; sleep 0.05
                done
                until ls "$2/reports" 2>/dev/null | grep -q ips; do
                    n=$((n + 1)); [ $n -lt 300 ] || break; sleep 0.05
                done
                "$1" status album --control "$2/control"
                kill -TERM $!
                wait $!
                """
            let program = try Program(
                ["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", Self.script]
                    + [scratch["journal.json"], ""] + shell(serve, product("watchdogd"), scratch.path))
            #expect(try program.end().code == 0)
            let text = program.text(.output)
            #expect(text.contains("JOURNAL_STREAM True"), "\(text)\(program.text(.errors))")
            #expect(text.contains("the disk is full"))
            let entries = try entries(in: scratch)
            let printed = entries.filter { $0._TRANSPORT == "stdout" && $0.SYSLOG_IDENTIFIER == "album" }
            #expect(printed.map(\.MESSAGE) == ["JOURNAL_STREAM True", "the disk is full"])
            #expect(printed.map(\.PRIORITY) == ["6", "3"])
            let own = entries.filter { $0.SYSLOG_IDENTIFIER == "watchdogd" }
            #expect(kinds(own) == ["launched", "ready", "exited", "killed"])
            #expect(printed.allSatisfy { $0._PID == own.first?.WATCHDOGD_PID })
            #expect(try report(in: scratch).body.linux?.log?.lines.map(\.text) == printed.compactMap(\.MESSAGE))
        }

        @Test("journalctl can use the catalogue", .enabled(if: isInstalled("journalctl")))
        func catalogue() throws {
            let scratch = try Scratch()
            let folder = "usr/lib/systemd/catalog"
            let root = subjects.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
            let text = String(decoding: contents(of: "\(root)/units/watchdogd.catalog") ?? [], as: UTF8.self)
            #expect(try Program(["/bin/mkdir", "-p", scratch[folder]]).end().code == 0)
            try scratch.write(text, to: "\(folder)/watchdogd.catalog")
            let update = try Program(["journalctl", "--root", scratch.path, "--update-catalog"])
            #expect(try update.end().code == 0)
            #expect(update.text(.errors) == "")
            let list = try Program(["journalctl", "--root", scratch.path, "--list-catalog"])
            #expect(try list.end().code == 0)
            let ids = text.split(separator: "\n").filter { $0.hasPrefix("-- ") }.count
            #expect(list.text(.output).split(separator: "\n").count == ids)
            #expect(list.text(.output).contains("625be8b805824436a7005458c4889c7e watchdogd: "))
        }
    }
}
