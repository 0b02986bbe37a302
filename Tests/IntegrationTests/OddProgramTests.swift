// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("Odd programs and surroundings")
    struct OddProgramTests {
        // MARK: - Odd states

        private static let hasCompiler = isInstalled("cc")

        /// Sends messages for a C program that cannot: it becomes that program in the same process.
        private func start(_ subject: String, in scratch: Scratch) throws -> [String] {
            let compiler = try Program(
                ["cc", "-pthread", "-o", scratch[subject], "\(subjects)/\(subject).c"], directory: scratch.path)
            try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")
            return python(
                #"notify("READY=1", "WATCHDOG=1"); os.execv(sys.argv[1], ["subject"])"#, scratch[subject])
        }

        @Test(
            "A main thread that sleeps uninterruptibly until its child starts a program is reported to wait for it, and dies",
            .enabled(if: hasCompiler, "no cc"))
        func uninterruptible() throws {
            let scratch = try Scratch()
            let ending = try Supervision(
                ["--update", "600ms"], try start("vfork", in: scratch), scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            let linux = try #require(ending.reports.first?.body.linux)
            #expect(linux.verdict.kind == .blocked, "\(linux.verdict.line)")
            #expect(linux.verdict.line.contains("in vfork (child "))
            #expect(linux.evidence.contains { $0.what == "main thread's state" && $0.value == "D" })
            #expect(ending.summary?.isDeathVerified == true)
        }

        @Test("A 32-bit program's system call has its own kernel's name", .enabled(if: hasCompiler, "no cc"))
        func of32Bits() throws {
            let scratch = try Scratch()
            let compiler = try Program(
                [
                    "cc", "-m32", "-nostdlib", "-static", "-no-pie", "-fno-pic", "-o", scratch["narrow"],
                    "\(subjects)/narrow.c",
                ], directory: scratch.path)
            try #require(try compiler.end().code == 0, "\(compiler.text(.errors))")
            let ending = try Supervision(
                ["--update", "600ms"],
                python(#"notify("READY=1", "WATCHDOG=1"); os.execv(sys.argv[1], ["subject"])"#, scratch["narrow"]),
                scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            let report = try #require(ending.reports.first)
            #expect(report.body.linux?.verdict.brief == "blocked in pause")
            let notes = report.body.linux.map { "\($0)" } ?? ""
            #expect(notes.contains("its threads are not 64-bit"))
        }

        @Test("A process whose main thread has exited is not considered dead", .enabled(if: hasCompiler, "no cc"))
        func threadGroupLeader() throws {
            let scratch = try Scratch()
            let ending = try Supervision(
                ["--update", "600ms"], try start("leader", in: scratch), scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            #expect(ending.reports.first?.body.linux?.verdict.kind == .exited)
            #expect(ending.summary?.isDeathVerified == true)
        }

        @Test("A report has all of three hundred threads")
        func threads() throws {
            let ending = try supervise(
                ["--update", "1s"],
                python(
                    """
                    for _ in range(299): threading.Thread(target=hang, daemon=True).start()
                    notify("READY=1", "WATCHDOG=1")
                    hang()
                    """))
            #expect(ending.exitCode == 137)
            let report = try #require(ending.reports.first)
            #expect(report.body.threads.count == 300)
            #expect(report.body.threads.allSatisfy { !$0.frames.isEmpty } == true)
            #expect(report.body.linux?.capture?.frozenNanoseconds ?? .max < 5_000_000_000)
        }

        @Test("A program that cannot be examined is killed anyway, and the report states what is missing")
        func notDumpable() throws {
            let ending = try supervise(
                ["--update", "600ms"],
                python(
                    """
                    import ctypes
                    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
                    notify("READY=1", "WATCHDOG=1")
                    hang()
                    """))
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.isDeathVerified == true)
            let report = try #require(ending.reports.first)
            if hasAllRights {
                #expect(report.body.threads.first?.frames.isEmpty == false)
            } else {
                let linux = try #require(report.body.linux)
                let words = linux.notes + (linux.capture?.notes ?? []) + [linux.capture?.methodReason ?? ""]
                #expect(words.contains { $0.contains("EPERM") || $0.contains("EACCES") }, "\(words)")
            }
        }

        @Test("A daemon without its session, its parent and its environment dies with its program")
        func strayDaemon() throws {
            let run = try Supervision(
                [],
                python(
                    """
                    if os.fork() == 0:
                        os.setsid()
                        daemon = os.fork()
                        if daemon == 0: os.execve("/bin/sleep", ["sleep", "600"], {})
                        say(daemon)
                        os._exit(0)
                    os.wait()
                    """))
            let daemon = try #require(Int32(try run.line()))
            let ending = try run.end()
            #expect(ending.exitCode == 0)
            let told = "left 1 process behind when it exited with code 0, which was ended"
            // Without a cgroup it is found as an orphan, when its owner is no longer known.
            #expect(ending.messages.count == (Leftovers.canUseCgroups ? 1 : 0), "\(ending.messages)")
            #expect(ending.messages.allSatisfy { $0.contains(told) })
            // It is reaped too, not left to process 1 as a zombie.
            let isGone = kill(daemon, 0) != 0
            if !isGone { kill(daemon, SIGKILL) }
            #expect(isGone)
        }

        // MARK: - Odd surroundings

        @Test("Ignored and blocked signals that watchdogd inherits have no effect")
        func inheritedSignals() throws {
            let wrapper = python(
                """
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
                os.execvp(sys.argv[1], sys.argv[1:])
                """)
            let run = try Supervision(
                [],
                python(
                    """
                    signal.signal(signal.SIGTERM, lambda *_: exit(21))
                    say(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL)
                    hang()
                    """),
                wrapper: wrapper)
            #expect(try run.line() == "set() True")
            try run.send(SIGTERM)
            #expect(try run.end().exitCode == 21)
        }

        @Test("A limit on file sizes costs the report, not the kill")
        func fileSizeLimit() throws {
            let ending = try Supervision(
                ["--update", "500ms", "--json", "-"], python(#"notify("READY=1", "WATCHDOG=1"); hang()"#),
                wrapper: ["/bin/sh", "-c", #"ulimit -f 1; exec "$@""#, "sh"]
            ).end()
            #expect(ending.exitCode == 137)
            #expect(ending.errors.last?.contains("EFBIG") == true, "\(ending.errors)")
            #expect(try Summary(ending.output.utf8).incidents.first?.reportError?.contains("EFBIG") == true)
        }

        @Test("A reports folder that disappears costs the report, not the kill")
        func reportsFolderRemoved() throws {
            let scratch = try Scratch()
            let ending = try Supervision(
                ["--update", "500ms"],
                python(
                    #"import shutil; shutil.rmtree(sys.argv[1]); notify("READY=1", "WATCHDOG=1"); hang()"#,
                    scratch["reports"]),
                scratch: scratch
            ).end()
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.reportError?.contains("ENOENT") == true)
            #expect(ending.errors.last?.contains("no report could be written: ") == true, "\(ending.errors)")
        }

        @Test("Standard error that nobody reads does not delay the kill")
        func unreadErrors() throws {
            let command = python(
                """
                os.set_blocking(2, False)
                for size in (1000, 1):
                    try:
                        while True: os.write(2, b"x" * size)
                    except BlockingIOError: pass
                notify("READY=1", "WATCHDOG=1")
                say(os.getpid())
                hang()
                """)
            let run = try Supervision(["--update", "600ms", "--verbose"], command, streams: .unreadErrors)
            let pid = try #require(Int32(try run.line()))
            #expect(eventually { kill(pid, 0) != 0 })
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            expectPatience(try #require(ending.reports.first))
        }

        @Test("A malicious name stays on one line and inside the folder")
        func mischievousName() throws {
            let ending = try supervise(
                ["--name", "../../x\ny\u{1b}[2J", "--update", "400ms"],
                python(#"notify("READY=1", "WATCHDOG=1"); hang()"#))
            #expect(ending.exitCode == 137)
            #expect(ending.reports.count == 1)
            #expect(ending.errors.contains { $0.hasPrefix(#"watchdogd: ../../x\x0ay\x1b[2J["#) }, "\(ending.errors)")
            #expect(!ending.errors.joined().unicodeScalars.contains("\u{1b}"))
        }

        @Test("An allowance of a millisecond is enforced too")
        func shortest() throws {
            let ending = try supervise(["--launch", "1ms", "--readiness", "notify"], ["sleep", "60"])
            #expect(ending.exitCode == 137)
            #expect(ending.summary?.incidents.first?.event == "process-launch")
            expectPatience(try #require(ending.reports.first))
        }

        @Test("SIGTERM in the first moment ends the run", arguments: 1...5)
        func termAtOnce(round: Int) throws {
            let run = try Supervision(["--terminate", "20s"], ["sleep", "60"])
            // Blocked or handled from the first statement on; before that, the default ends watchdogd itself.
            try run.send(SIGTERM)
            let status = try run.program.end()
            #expect(status.code == 143 || status == .signaled(signal: SIGTERM, coreDumped: false))
            #expect(eventually { run.processes.isEmpty })
        }
    }
}
