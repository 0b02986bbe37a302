// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogReport

/// A small disk in a test's directory.
private final class SmallDisk {
    let path: String

    /// Mounts it.
    ///
    /// - Parameter options: of tmpfs, such as `size=64k`.
    init(at path: String, _ options: String) throws {
        self.path = path
        let mount = try Program(["mount", "-t", "tmpfs", "-o", "mode=0755,\(options)", "watchdogd-test", path])
        guard try mount.end() == .exited(code: 0) else { throw Failure("no tmpfs: \(mount.text(.errors))") }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    func fill() throws {
        let filler = try Program(["dd", "if=/dev/zero", "of=\(path)/filler", "bs=4k"])
        try #require(try filler.end() == .exited(code: 1) && filler.text(.errors).contains("No space left"))
    }

    func empty() { unlink("\(path)/filler") }

    /// The contents of its files, without the filler.
    var files: [String: [UInt8]?] {
        let others = names(in: path).filter { $0 != "filler" }
        return Dictionary(uniqueKeysWithValues: others.map { ($0, contents(of: "\(path)/\($0)")) })
    }
}

extension EndToEnd {
    /// Siblings: a quota (EDQUOT), a limit of file sizes (EFBIG) and a broken disk (EIO) at the same writes.
    ///
    /// Other tests cover the history (StoreTests), kept stacks (KeptStackTests), hooks (HookTests), and apps that fill
    /// the disk on purpose (AttackTests, AttackExhaustionTests).
    @Suite("On a full disk", .enabled(if: hasAllRights, "mounts a small disk"))
    struct FullDiskTests {
        private let scratch: Scratch

        init() throws { scratch = try Scratch() }

        private func disk(_ options: String = "size=64k") throws -> SmallDisk {
            try SmallDisk(at: try scratch.makeDirectory("disk"), options)
        }

        // MARK: - Output of apps

        /// Records each change of what its writes return in a different file than the one it writes to.
        private static let writer = """
            from wd import *
            said = None
            notify("READY=1", "WATCHDOG=1")
            while True:
                outcome = []
                for stream in 1, 2:
                    try: outcome.append("ok" if os.write(stream, b"x" * 1999 + b"\\n") == 2000 else "short")
                    except OSError as error: outcome.append(str(error.errno))
                if outcome != said:
                    open(sys.argv[1], "a").write(" ".join(outcome) + "\\n")
                    said = outcome
                notify("WATCHDOG=1")
                time.sleep(0.02)
            """

        /// Hangs from the start of every launch.
        private static let hanging = """
            [App]
            ExecStart=/bin/sleep 1000
            Enabled=no
            [Watchdog]
            Readiness=notify
            Launch=500ms
            [Restart]
            Policy=never
            """

        @Test(
            "An app whose output does not fit gets the error of write(2) and keeps running; earlier output stays",
            arguments: ["append", "file"])
        func output(form: String) throws {
            let disk = try disk()
            try scratch.write("written before\n", to: "disk/output")
            try scratch.write("written before\n", to: "disk/errors")
            try disk.fill()
            try scratch.write(Self.writer, to: "app.py")
            let app = """
                [App]
                ExecStart=/usr/bin/python3 \(scratch["app.py"]) \(scratch["said"])
                Environment=PYTHONPATH=\(quoted(subjects)) PYTHONDONTWRITEBYTECODE=1
                StandardOutput=\(form):\(disk.path)/output
                StandardError=\(form):\(disk.path)/errors
                [Watchdog]
                Launch=1h
                Update=1h
                Readiness=notify
                """
            let service = try Service(["app": app, "hang": Self.hanging], scratch: scratch)
            let process = try service.wait(for: "app") { $0.state == .running }.pid
            func said() -> [Substring] { (scratch.read("said") ?? "").split(separator: "\n") }
            // Each file's page holds two lines.
            #expect(eventually { said().last == "\(ENOSPC) \(ENOSPC)" }, "\(said())")
            #expect(try service.incident(of: "hang").event == "process-launch", "the daemon goes on")
            disk.empty()
            #expect(eventually { said().last == "ok ok" }, "\(said())")
            let after = try service.app("app")
            #expect(after.pid == process && after.restarts == 0 && after.lastIncident == nil)
            #expect(try service.end() == 0)
            for name in ["output", "errors"] {
                let text = try #require(scratch.read("disk/\(name)"))
                #expect(text.hasPrefix(form == "append" ? "written before\nxxx" : "xxx"))
            }
        }

        @Test(
            "An app whose output file does not fit is not launched, which is reported, and is launched once there is room"
        )
        func newOutput() throws {
            // One for the folder, and one for the file that fills it.
            let disk = try disk("size=64k,nr_inodes=2")
            try scratch.write("", to: "disk/filler")
            let app = """
                [App]
                ExecStart=/bin/sh -c "echo here; exec sleep 1000"
                StandardOutput=append:\(disk.path)/output
                [Watchdog]
                Readiness=none
                [Restart]
                Policy=never
                """
            let service = try Service(["app": app, "hang": Self.hanging], scratch: scratch)
            try service.wait(for: "app") { $0.state == .stopped }
            let refusal = try service.command("launch", "app")
            #expect(refusal.code != 0)
            #expect(refusal.errors.contains("\(disk.path)/output: No space left on device (ENOSPC)"), "\(refusal)")
            #expect(try service.incident(of: "hang").event == "process-launch", "the daemon goes on")
            disk.empty()
            #expect(try service.command("launch", "app").code == 0)
            #expect(eventually { scratch.read("disk/output") == "here\n" })
            #expect(try service.end() == 0)
        }

        // MARK: - The daemon's own files

        /// Hangs from its start and is launched again, without end.
        private static let looping = """
            [App]
            ExecStart=/bin/sleep 1000
            [Watchdog]
            Readiness=notify
            Launch=500ms
            [Restart]
            Policy=always
            Delay=500ms
            Factor=1
            Limit=infinity
            """

        private static let healthy = """
            [App]
            ExecStart=/usr/bin/python3 -c 'from wd import *; notify("READY=1"); hang()'
            Environment=PYTHONPATH=\(quoted(subjects)) PYTHONDONTWRITEBYTECODE=1
            \(unhurriedSettings)Readiness=notify
            """

        @Test(
            "A daemon with reports, history, metrics and state on one full disk goes on, says each once, and recovers")
        func ownFiles() throws {
            // Over the whole folder of the test.
            let disk = try SmallDisk(at: scratch.path, "size=8m")
            let service = try Service(
                ["app": Self.healthy, "loop": Self.looping, "hang": Self.hanging],
                options: ["--metrics-file", scratch["watchdogd.prom"]], scratch: scratch)
            func count(_ words: String) -> Int {
                service.program.text(.errors).split(separator: "\n").count { $0.contains(words) }
            }
            /// Reads its messages until all of some have come, in whatever order.
            func read(until words: [String]) throws {
                var missing = words
                for _ in 0..<10_000 where !missing.isEmpty {
                    let line = try service.program.line(on: .errors)
                    missing.removeAll { line.contains($0) }
                }
                #expect(missing == [])
            }
            let problems = ["cannot write metrics: ", "launches are not recorded: "]
            let process = try service.wait(for: "app") { $0.state == .running }.pid
            try service.wait(for: "loop") { $0.lastIncident?.report != nil }
            #expect(eventually { scratch.exists("watchdogd.prom") })

            try disk.fill()
            let reports = names(in: scratch["reports"])
            let restarts = try service.app("loop").restarts
            try read(until: problems)
            // Kills and restarts go on, for longer than it takes to write the metrics twice.
            try service.wait(for: "loop") { $0.restarts >= restarts + 30 }
            #expect(names(in: scratch["reports"]) == reports, "nothing half-written")
            let incident = try service.incident(of: "hang")
            #expect(incident.event == "process-launch" && incident.report == nil)
            #expect(try service.command("status", "app").code == 0)
            try service.program.line("hang[", on: .errors)
            let lost = try service.program.line("no report could be written: ", on: .errors)
            #expect(lost.contains("No space left on device (ENOSPC)"), "\(lost)")
            for problem in problems { #expect(count(problem) == 1, "\(problem)") }

            disk.empty()
            #expect(eventually { names(in: scratch["reports"]).count > reports.count })
            try read(until: [
                "metrics are written again: ",
                "launches, hangs and exits not recorded because the disk was too slow or full: ",
            ])
            for problem in problems { #expect(count(problem) == 1) }
            // What the end of one launch leaves free is enough for the state of the next.
            #expect(count(" cannot be kept: ") <= 1)
            let last = try service.incident(of: "hang")
            let report = try ReportCoding.decode(contents(of: try #require(last.report)) ?? [])
            #expect(report.metadata.linux?.event == "process-launch")
            let metrics = try #require(scratch.read("watchdogd.prom"))
            #expect(metrics.contains("\nwatchdogd_report_failures_total "))
            #expect(!metrics.contains("\nwatchdogd_report_failures_total 0\n"))
            let launches = try Program(
                [product("watchdogd"), "launches", "hang", "--history", scratch["history.db"]])
            #expect(try launches.end().code == 0, "\(launches.text(.errors))")
            let after = try service.app("app")
            #expect(after.pid == process && after.restarts == 0 && after.lastIncident == nil)
            #expect(try service.end() == 0)
        }

        // MARK: - Commands

        /// Commands that write files: their words, in which `NEW` is a missing file and `OLD` an existing one, and
        /// their exit code.
        private static let commands: [(words: [String], code: Int32)] = [
            (["init", "--within", "200ms", "--output", "NEW.app", "--", "sleep", "1000"], 73),
            (["import", "--yes", "--output", "EMPTY", "SOURCE"], 73),
            (["import", "--yes", "--force", "--output", "FOLDER", "SOURCE"], 73),
            (["measure", "--runs", "1", "--save-baseline", "NEW", "--", "true"], 73),
            (["measure", "--runs", "1", "--save-baseline", "OLD", "--", "true"], 73),
            (["measure", "--runs", "1", "--junit", "NEW", "--", "true"], 73),
            (["record", "--output", "OLD", "--", "true"], 73), (["record", "--html", "OLD", "--", "true"], 73),
            (["record", "--perfetto", "NEW", "--", "true"], 73),
            (["record", "show", "RECORDING", "--html", "OLD"], 73),
            (["record", "show", "RECORDING", "--perfetto", "OLD"], 73),
            (["run", "--reports", "none", "--json", "NEW", "--", "true"], 73),
            (["run", "--reports", "none", "--json", "OLD", "--", "true"], 73),
            (["run", "--reports", "none", "--junit", "OLD", "--", "true"], 73),
            (["run", "--reports", "none", "--tap", "NEW", "--", "true"], 73),
            (["run", "--reports", "none", "--json", "NEW", "--", "sh", "-c", "exit 3"], 3),
            (
                [
                    "run", "--reports", "none", "--termination-message", "OLD", "--launch", "300ms", "--readiness",
                    "notify", "--", "sleep", "1000",
                ], 137
            ),
            (["conformance", "--launch", "200ms", "--junit", "NEW", "--", "true"], 73),
            (["report", "export", "--format", "html", "--output", "NEW", "REPORT"], 74),
            (["report", "export", "--format", "html", "--output", "OLD", "REPORT"], 74),
            (["report", "export", "--format", "ndjson", "--reports", "REPORTS", "--output", "OLD"], 74),
            (["report", "export", "--format", "otlp-json", "--reports", "REPORTS", "--output", "NEW"], 74),
            (["report", "open", "REPORT"], 74),
            (["organizer", "--reports", "REPORTS", "--html", "OLD"], 74),
        ]

        /// Creates the commands' files on the small disk, and fills it.
        private func prepare(_ disk: SmallDisk) throws -> [String: String] {
            _ = try scratch.makeDirectory("disk/folder")
            try scratch.write("[App]\nExecStart=/bin/old\n", to: "disk/old")
            _ = try scratch.makeDirectory("disk/empty")
            try scratch.write("[App]\nExecStart=/bin/old\n", to: "disk/folder/b.app")
            let services = ["a", "b", "c"].map { "  \($0):\n    entrypoint: /bin/\($0)\n    user: daemon\n" }.joined()
            try scratch.write("services:\n\(services)", to: "compose.yml")
            let recording = try Program(
                [product("watchdogd"), "record", "--output", scratch["true.launch"], "--", "true"])
            try #require(try recording.end().code == 0, "\(recording.text(.errors))")
            let ending = try Supervision(
                ["--launch", "300ms", "--readiness", "notify"], ["/bin/sleep", "1000"], scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            let report = scratch["reports/\(try #require(names(in: scratch["reports"]).first))"]
            try disk.fill()
            return [
                "NEW": scratch["disk/new"], "NEW.app": scratch["disk/new.app"], "OLD": scratch["disk/old"],
                "FOLDER": scratch["disk/folder"], "EMPTY": scratch["disk/empty"], "SOURCE": scratch["compose.yml"],
                "RECORDING": scratch["true.launch"], "REPORT": report, "REPORTS": scratch["reports"],
            ]
        }

        @Test(
            "A command that cannot write reports one sentence and its exit code; existing files stay, and no partial one",
            arguments: commands.indices)
        func command(index: Int) throws {
            let (words, code) = Self.commands[index]
            let disk = try disk()
            let places = try prepare(disk)
            let before = disk.files
            var environment = testEnvironment()
            environment["TMPDIR"] = disk.path
            let program = try Program(
                [product("watchdogd")] + words.map { places[$0] ?? $0 }, environment: environment,
                directory: scratch.path)
            #expect(try program.end().code == code, "\(program.text(.errors))")
            let lines = program.text(.errors).split(separator: "\n").filter { $0.contains("(ENOSPC)") }
            #expect(lines.count == 1, "\(program.text(.errors))")
            #expect(lines.first?.hasPrefix("watchdogd: ") == true, "\(lines)")
            #expect(disk.files == before)
            #expect(names(in: scratch["disk/empty"]) == [], "nothing half-written")
            #expect(names(in: scratch["disk/folder"]) == ["b.app"])
            #expect(scratch.read("disk/folder/b.app") == "[App]\nExecStart=/bin/old\n")
        }

        @Test("A trace ends with a whole line, and is completed if there is room in time")
        func trace() throws {
            let disk = try disk("size=16k")
            try scratch.write("", to: "disk/filler")
            let command = python(
                """
                notify("READY=1", "WATCHDOG=1")
                for number in range(400): notify("WATCHDOG=1", f"WATCHDOG_USEC={60_000_000 + number}")
                """)
            try disk.fill()
            let run = try Supervision(
                unhurried(["--trace", "\(disk.path)/trace"]), command, scratch: scratch)
            let ending = try run.end()
            #expect(ending.exitCode == 73)
            let lines = ending.errors.filter { $0.contains("(ENOSPC)") }
            #expect(lines.count == 1 && lines.first?.contains("the trace is incomplete: ") == true, "\(ending.errors)")
            #expect(scratch.read("disk/trace").map { $0.isEmpty || $0.hasSuffix("\n") } == true)
        }

        @Test(
            "Only messages that do not fit are lost: the program is killed, and the report and the exit code are right")
        func messages() throws {
            let disk = try disk()
            try disk.fill()
            let run = try Program(
                [
                    "sh", "-c", #""$@" >"$0"/output 2>"$0"/errors"#, disk.path, product("watchdogd"), "run",
                    "--verbose",
                    "--reports", scratch["reports"], "--launch", "300ms", "--readiness", "notify", "--", "/bin/sleep",
                    "1000",
                ])
            #expect(try run.end().code == 137)
            let report = try #require(names(in: scratch["reports"]).first)
            #expect(throws: Never.self) {
                try ReportCoding.decode(contents(of: scratch["reports/\(report)"]) ?? [])
            }
        }
    }
}
