// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport

extension EndToEnd {
    @Suite("Runs that cannot start, or start oddly")
    struct EdgeTests {
        // MARK: - Commands that cannot be run

        /// Expects one line, an exit code, and no launch.
        private func expectRefusal(
            _ options: [String] = [], _ command: [String], code: Int32, _ words: String...,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let ending = try supervise(options, command, sourceLocation: sourceLocation)
            #expect(ending.exitCode == code, sourceLocation: sourceLocation)
            #expect(ending.output == "", sourceLocation: sourceLocation)
            #expect(ending.errors.count == 1, "\(ending.errors)", sourceLocation: sourceLocation)
            for word in words + ["watchdogd: "] {
                #expect(ending.errors.first?.contains(word) == true, "\(ending.errors)", sourceLocation: sourceLocation)
            }
            #expect(ending.reports.isEmpty, sourceLocation: sourceLocation)
        }

        @Test("A missing command exits with 127")
        func missing() throws {
            try expectRefusal([], ["no-such-command"], code: 127, "no-such-command: command not found")
            try expectRefusal([], ["/no/such/file"], code: 127, "/no/such/file: no such file")
        }

        @Test("A command that cannot be executed exits with 126")
        func notExecutable() throws {
            let scratch = try Scratch()
            chmod(scratch.path, 0o755)
            try expectRefusal(
                [], [try scratch.write("data", to: "data", mode: 0o644)], code: 126, "data: permission denied")
            try expectRefusal([], ["/tmp"], code: 126, "/tmp: is a directory")
            let ending = try supervise([], [try scratch.write("\u{7f}ELF\0\0", to: "broken", mode: 0o755)])
            #expect(ending.exitCode == 126)
            #expect(ending.errors.count == 1)
            #expect(
                ending.errors.first?.contains("broken: not a program for this machine: Exec format error") == true,
                "\(ending.errors)")
            #expect(ending.summary?.termination == "spawnFailed")
            #expect(ending.summary?.spawnError?.contains("ENOEXEC") == true)
        }

        @Test("A script with a missing interpreter is reported with its name")
        func missingInterpreter() throws {
            let scratch = try Scratch()
            let ending = try supervise([], [try scratch.write("#!/no/interpreter\n", to: "script", mode: 0o755)])
            #expect([126, 127].contains(ending.exitCode))
            #expect(ending.errors.count == 1)
            #expect(ending.errors.first?.contains("/no/interpreter") == true, "\(ending.errors)")
        }

        @Test("A missing working directory exits with 125")
        func missingDirectory() throws {
            let ending = try supervise(["--chdir", "/no/such/directory"], ["true"])
            #expect(ending.exitCode == 125)
            #expect(
                ending.errors == [
                    "watchdogd: cannot change directory to /no/such/directory: No such file or directory (ENOENT)"
                ])
        }

        // MARK: - Users

        @Test("A user that does not exist exits with 67")
        func unknownUser() throws {
            try expectRefusal(["--user", "nobody-like-this"], ["true"], code: 67, "--user nobody-like-this: ")
        }

        @Test("Another user, without root, exits with 77")
        func foreignUser() throws {
            let scratch = try Scratch()
            chmod(scratch.path, 0o777)
            let run = try Supervision(
                ["--user", "root"], ["touch", scratch["launched"]], wrapper: ordinaryUser, scratch: scratch,
                reports: "/tmp")
            try run.program.end()
            #expect(run.program.status?.code == 77)
            #expect(
                run.program.text(.errors)
                    == "watchdogd: --user root: only root can run programs as another user\n")
            #expect(!scratch.exists("launched"))
        }

        @Test(
            "--user runs the program as that user, who can reach the notify socket", .enabled(if: isRoot, "needs root"))
        func user() throws {
            let scratch = try Scratch()
            chmod(scratch.path, 0o711)
            let run = try Supervision(
                ["--user", "nobody"],
                python(
                    "notify('READY=1', 'STATUS=here'); say(os.getuid(), os.getgid(), os.environ['USER']); time.sleep(0.2)"
                ),
                scratch: scratch)
            chmod(scratch["runtime"], 0o711)
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            #expect(ending.output == "65534 65534 nobody\n")
            #expect(ending.summary?.launch?.source == "notify")
            #expect(ending.summary?.status == "here")
        }

        @Test(
            "--user: a kill captures the stacks of another user's program too", .enabled(if: hasAllRights, "needs root")
        )
        func userKilled() throws {
            let scratch = try Scratch()
            chmod(scratch.path, 0o711)
            let ending = try Supervision(
                ["--user", "nobody", "--update", "500ms"], python(#"notify("READY=1", "WATCHDOG=1"); hang()"#),
                scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            let report = try #require(ending.reports.first)
            #expect(report.body.userID == 65534)
            #expect(report.body.threads.first?.frames.isEmpty == false)
        }

        // MARK: - watchdogd's own files

        @Test("An impossible reports folder exits with 73, before the program runs")
        func reportsFolder() throws {
            let scratch = try Scratch()
            let run = try Supervision(
                [], ["touch", scratch["launched"]], scratch: scratch, reports: "/dev/null/reports")
            let ending = try run.end()
            #expect(ending.exitCode == 73)
            #expect(ending.errors.count == 1)
            #expect(ending.errors.first?.hasPrefix("watchdogd: --reports: ") == true, "\(ending.errors)")
            #expect(ending.errors.first?.contains("/dev/null") == true)
            #expect(!scratch.exists("launched"))
        }

        @Test("A summary that cannot be written exits with 73, before the program runs")
        func summaryFile() throws {
            let scratch = try Scratch()
            let run = try Supervision(
                ["--json", "/dev/null/summary"], ["touch", scratch["launched"]], scratch: scratch)
            let ending = try run.end()
            #expect(ending.exitCode == 73)
            #expect(ending.errors.first?.hasPrefix("watchdogd: --json /dev/null/summary: ") == true, "\(ending.errors)")
            #expect(!scratch.exists("launched"))
        }

        @Test(
            "A file of test results that cannot be written exits with 73, before the program runs",
            arguments: ["junit", "tap"])
        func resultFile(option: String) throws {
            let scratch = try Scratch()
            let run = try Supervision(
                ["--\(option)", "/dev/null/results"], ["touch", scratch["launched"]], scratch: scratch)
            let ending = try run.end()
            #expect(ending.exitCode == 73)
            #expect(ending.errors.count == 1)
            let words = "watchdogd: --\(option) /dev/null/results: cannot open "
            #expect(ending.errors.first?.hasPrefix(words) == true, "\(ending.errors)")
            #expect(!scratch.exists("launched"))
        }

        @Test(
            "A full disk costs the report, not the kill: 137, with the reason",
            .enabled(if: hasAllRights, "mounting a small file system needs root"))
        func fullDisk() throws {
            let scratch = try Scratch()
            let reports = try scratch.makeDirectory("small")
            let command = python(
                """
                notify("READY=1", "WATCHDOG=1")
                with open(sys.argv[1] + "/filler", "wb", buffering=0) as filler:
                    try:
                        while True: filler.write(bytes(4096))
                    except OSError: pass
                hang()
                """, reports)
            let run = try Supervision(
                ["--update", "700ms"], command,
                wrapper: [
                    "unshare", "--mount", "/bin/sh", "-c", #"mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@""#,
                    reports,
                ],
                scratch: scratch, reports: reports)
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.exit?.signal == "SIGKILL")
            #expect(ending.summary?.incidents.first?.verdictKind == "blocked")
            #expect(ending.summary?.incidents.first?.report == nil)
            #expect(ending.summary?.incidents.first?.reportError?.contains("ENOSPC") == true)
            #expect(ending.errors.last?.contains("no report could be written: ") == true)
            #expect(ending.errors.last?.contains("No space left on device (ENOSPC)") == true, "\(ending.errors)")
        }

        // MARK: - Odd starts

        @Test("If the standard streams are closed, watchdogd does not reuse their numbers")
        func closedStreams() throws {
            let scratch = try Scratch()
            let command = python(
                """
                open(sys.argv[1], "w").write(" ".join(os.readlink(f"/proc/self/fd/{n}") for n in range(3)))
                notify("READY=1", "WATCHDOG=1")
                hang()
                """, scratch["streams"])
            let run = try Supervision(unhurried(["--update", "500ms"]), command, scratch: scratch, streams: .closed)
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            #expect(scratch.read("streams") == "/dev/null /dev/null /dev/null")
            #expect(ending.reports.count == 1)
        }

        @Test("Long arguments arrive unchanged", arguments: [1, 16])
        func longArguments(count: Int) throws {
            let argument = String(repeating: "ä", count: 32 << 10)
            let command =
                python(
                    "say(len(sys.argv) - 1, sum(len(os.fsencode(a)) for a in sys.argv[1:]), set(''.join(sys.argv[1:])))"
                )
                + Array(repeating: argument, count: count)
            let ending = try supervise(unhurried(), command)
            #expect(ending.exitCode == 0)
            #expect(ending.output == "\(count) \(count << 16) {'ä'}\n")
        }

        @Test("A program with very long arguments has a report of bounded size")
        func longArgumentsInReport() throws {
            let command =
                python(#"notify("READY=1", "WATCHDOG=1"); hang()"#)
                + Array(repeating: String(repeating: "x", count: 64 << 10), count: 16)
            let ending = try supervise(["--update", "500ms"], command)
            #expect(ending.exitCode == 137)
            let path = try #require(ending.reportPaths.first)
            #expect((contents(of: path) ?? []).count < 4 << 20)
        }

        @Test("Arguments that are not UTF-8 arrive byte for byte")
        func bytes() throws {
            let ending = try supervise(
                [],
                shell(
                    """
                    exec \(shellWord(product("watchdogd"))) run --reports reports -- \
                    /usr/bin/python3 -c 'import os, sys; print(os.fsencode(sys.argv[1]))' "$(printf 'a\\377b')"
                    """))
            #expect(ending.output == "b'a\\xffb'\n")
        }

        @Test("A nested supervisor has its own program, sockets and cgroup")
        func nested() throws {
            let inner = [product("watchdogd"), "run", "--reports", "inner", "--update", "500ms", "--"]
            let ending = try supervise(
                ["--update", "20s"], inner + python(#"notify("READY=1", "WATCHDOG=1"); hang()"#))
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.exit?.code == 137)
            #expect(ending.summary?.incidents.isEmpty == true)
        }
    }
}

/// A command that drops root's privileges, if there are any.
let ordinaryUser: [String] =
    isRoot
    ? ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    : ["env"]
