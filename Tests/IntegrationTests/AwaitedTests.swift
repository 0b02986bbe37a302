// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("Main threads that wait for a stuck thread or process")
    struct AwaitedTests {
        private func report(_ command: [String], launch: String = "3s", in scratch: Scratch? = nil) throws -> Report {
            let ending = try Supervision(
                ["--readiness", "notify", "--launch", launch], command, scratch: scratch ?? Scratch()
            ).end()
            return try #require(ending.reports.first)
        }

        private static func python(_ source: String) -> [String] { ["/usr/bin/python3", "-c", source] }

        private static let crunch = "def crunch():\n    while True: pass\n"

        /// A program whose main thread waits, and for what.
        struct Pool: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let command: [String]
        }

        static let threads = [
            Pool(
                testDescription: "Thread.join",
                command: python(crunch + "import threading\nt = threading.Thread(target=crunch)\nt.start()\nt.join()")),
            Pool(
                testDescription: "ThreadPoolExecutor",
                command: python(
                    crunch + "from concurrent.futures import ThreadPoolExecutor\n"
                        + "ThreadPoolExecutor().submit(crunch).result()")),
        ]

        @Test("A computing thread is named with its own function, in verdict and fault", arguments: threads)
        func thread(pool: Pool) throws {
            let report = try report(pool.command)
            let linux = try #require(report.body.linux)
            let finding = try #require(linux.findings?.first { $0.kind == .otherThread }, "\(linux.verdict.line)")
            #expect(finding.thread != report.body.pid)
            let pattern = #/[Tt]hread \d+ "python3" computes \(.* s on a CPU\), from crunch \(<string>:2\)/#
            #expect(linux.verdict.line.contains(pattern), "\(linux.verdict.line)")
            let blame = Blame(for: report)
            #expect(blame.party == .app)
            #expect(blame.reason.contains(pattern), "\(blame.reason)")
        }

        @Test("A pool of processes names the one that computes")
        func processes() throws {
            let report = try report(
                Self.python(
                    Self.crunch + "import multiprocessing\nmultiprocessing.set_start_method('fork')\n"
                        + "pool = multiprocessing.Pool(1)\npool.apply(crunch)"))
            let linux = try #require(report.body.linux)
            // On a busy machine, it could run and does not.
            let pattern =
                #/process \d+ "python3" (computes \(|could run, but had a CPU for only ).* s.*, from crunch \(<string>:2\)/#
            #expect(linux.verdict.line.contains(pattern), "\(linux.verdict.line)")
            #expect(Blame(for: report).party == .app)
        }

        @Test("Java's launcher names the program's thread that computes")
        func java() throws {
            guard isInstalled("javac"), isInstalled("java") else { return }
            let scratch = try Scratch()
            _ = try scratch.write(
                "class Spin { public static void main(String[] a) { for (long i = 0;; i++) sum += i; } static long sum; }",
                to: "Spin.java")
            let compiler = try Program(["javac", "-d", scratch.path, scratch["Spin.java"]], directory: scratch.path)
            let status = try compiler.end()
            try #require(status == .exited(code: 0), "\(compiler.text(.errors))")
            let report = try report(["java", "-Xshare:auto", "-cp", scratch.path, "Spin"], launch: "4s", in: scratch)
            let linux = try #require(report.body.linux)
            #expect(
                linux.verdict.line.contains(#/in futex \(the end of thread \d+ "java".*; thread \d+ "java" computes/#),
                "\(linux.verdict.line)")
            #expect(Blame(for: report).party == .app)
        }

        @Test("Two Java threads that wait for each other's locks are reported as a deadlock")
        func javaDeadlock() throws {
            guard isInstalled("javac"), isInstalled("java") else { return }
            let scratch = try Scratch()
            _ = try scratch.write(
                """
                class Bank {
                    static final Object a = new Object(), b = new Object();
                    static final java.util.concurrent.CyclicBarrier both = new java.util.concurrent.CyclicBarrier(2);
                    static void transfer(Object from, Object to) throws Exception {
                        synchronized (from) { both.await(); synchronized (to) { System.exit(1); } }
                    }
                    public static void main(String[] arguments) throws Exception {
                        new Thread(() -> { try { transfer(b, a); } catch (Exception e) { } }, "auditor").start();
                        transfer(a, b);
                    }
                }
                """, to: "Bank.java")
            let compiler = try Program(["javac", "-d", scratch.path, scratch["Bank.java"]], directory: scratch.path)
            let status = try compiler.end()
            try #require(status == .exited(code: 0), "\(compiler.text(.errors))")
            let report = try report(["java", "-Xshare:auto", "-cp", scratch.path, "Bank"], launch: "8s", in: scratch)
            let headline = try #require(Explanation(of: report).headline)
            #expect(
                headline.contains(
                    #/^Deadlock: Java's main\(\) in thread \d+ "java", at Bank.transfer .*\) and thread \d+ "auditor", at Bank.transfer/#
                ),
                "\(headline)")
            #expect(report.metadata.linux?.culprit == headline)
            #expect(Blame(for: report).party == .app)
        }

        @Test(
            "A Go program without a runnable goroutine is reported with the wait of the main goroutine, and with advice"
        )
        func goroutines() throws {
            guard isInstalled("go") else { return }
            let scratch = try Scratch()
            let source = try scratch.write(
                """
                package main

                import ("net"; "sync")

                func main() {
                    listener, _ := net.Listen("tcp", "127.0.0.1:0")
                    go listener.Accept()
                    var lock sync.Mutex
                    lock.Lock()
                    lock.Lock()
                }

                """, to: "stuck.go")
            var environment = testEnvironment()
            environment["GOCACHE"] = scratch["cache"]
            let compiler = try Program(
                ["go", "build", "-o", scratch["stuck"], source], environment: environment, directory: scratch.path)
            let status = try compiler.end()
            try #require(status == .exited(code: 0), "\(compiler.text(.errors))")
            let explanation = Explanation(of: try report([scratch["stuck"]], in: scratch))
            #expect(
                explanation.headline
                    == "Main goroutine waits for a sync.Mutex in main.main (stuck.go:10), and no goroutine runs that could "
                    + "release it")
            #expect(explanation.advice.hasPrefix("Look at the stacks under Goroutines"))
        }

        @Test("Each of several connections shows its state, and a worker at the other end of one is followed")
        func connections() throws {
            let report = try report(
                Self.python(
                    """
                    import os, select, signal, socket
                    server = socket.create_server(('127.0.0.1', 0))
                    asked = socket.create_connection(server.getsockname())
                    if os.fork() == 0:
                        asked.close()
                        answer, _ = server.accept()
                        server.close()
                        signal.raise_signal(signal.SIGSTOP)
                    silent = socket.create_server(('127.0.0.1', 0))
                    other = socket.create_connection(silent.getsockname())
                    poll = select.poll()
                    for file in [asked, other]: poll.register(file, select.POLLIN)
                    poll.poll()
                    """))
            let linux = try #require(report.body.linux)
            let subject = try #require(linux.waits?.first?.subject)
            let address = #"127\.0\.0\.1:\d+"#
            let pattern = try Regex(
                #"^2 fds: \d+ \(TCP \#(address) → \#(address), ESTABLISHED, nothing to read, other end in pid \d+ "python3", "#
                    + #"which is stopped\), \d+ \(TCP \#(address) → \#(address), ESTABLISHED, nothing to read\)$"#)
            #expect(subject.contains(pattern), "\(subject)")
            // The verdict is too short for all of it.
            let lines = report.body.applicationSpecificInformation?["watchdogd"] ?? []
            #expect(lines.contains { $0.hasPrefix("Waits: ") && $0.contains("ESTABLISHED, nothing to read)") })
            #expect(linux.verdict.line.contains("ESTABLISHED, nothing to read"), "\(linux.verdict.line)")
        }

        @Test("A wait for a child's signal or its pidfd names the child and its state")
        func child() throws {
            for wait in [
                "signal.sigwait([signal.SIGCHLD])",
                "import select; p = select.poll(); p.register(os.pidfd_open(child.pid), select.POLLIN); p.poll()",
            ] {
                let report = try report(
                    Self.python(
                        """
                        import os, signal, subprocess
                        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
                        child = subprocess.Popen(['sleep', '600'])
                        \(wait)
                        """), launch: "2s")
                let line = report.body.linux?.verdict.line ?? ""
                #expect(line.contains(#/\d+ "sleep", sleeping/#), "\(line)")
            }
        }
    }
}
