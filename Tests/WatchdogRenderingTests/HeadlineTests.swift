// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Headlines for people")
struct HeadlineTests {
    private static let numbers = [
        "read": 0, "write": 1, "poll": 7, "accept": 43, "connect": 42, "recvfrom": 45, "wait4": 61, "flock": 73,
        "fsync": 74, "futex": 202, "clock_nanosleep": 230, "openat": 257, "newfstatat": 262, "msgrcv": 70,
        "semop": 65, "recvmsg": 47, "select": 23, "epoll_wait": 232, "pause": 34, "clone3": 435, "munmap": 11,
        "close": 3, "getrandom": 318, "msgsnd": 69, "rt_sigtimedwait": 128, "io_uring_enter": 426,
    ]

    /// The headline of a main thread that is blocked in a call.
    private static func headline(
        _ call: String, _ subject: String? = nil, _ holder: WaitDetails.Holder? = nil, state: Character = "S",
        channel: String? = nil
    ) -> String? {
        var facts = Samples.facts()
        facts.evidence.state = state
        facts.evidence.syscall = "\(numbers[call] ?? -1) 0x7 0x1 0x1 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
        facts.evidence.waits = [
            WaitDetails(
                process: 4242, thread: 4242, name: "hang-main", syscall: facts.evidence.syscall ?? "",
                subject: subject, holder: holder, sources: [])
        ]
        var capture = Samples.capture
        capture.threads[0].syscall = facts.evidence.syscall
        capture.threads[0].waitChannel = channel
        return Explanation(of: Samples.report(facts, capture: capture)).headline
    }

    @Test(
        "A close that lingers is told from one of a file by the kernel's function",
        arguments: [("wait_woken", true), ("sk_stream_wait_close", true), ("fuse_flush", false)])
    func lingering(channel: String, lingers: Bool) {
        let words = "Main thread waits until the other end of a connection has taken its data (SO_LINGER)"
        #expect((Self.headline("close", channel: channel) == words) == lingers)
    }

    @Test("Of several files, the only connection is what is awaited, unless another is not the process's own")
    func onlyConnection() {
        let connection = "6 (TCP 10.0.0.1:34658 → 10.0.0.7:5432, ESTABLISHED, nothing to read)"
        let answer = "Main thread waits for an answer from 10.0.0.7:5432"
        for own in ["4 (eventfd)", "4 (pipe)", "4 (Unix socket, other end in this process)"] {
            #expect(Self.headline("poll", "2 fds: \(connection), \(own)") == answer, "\(own)")
        }
        for other in ["7 (TCP 10.0.0.1:34659 → 10.0.0.8:80, ESTABLISHED)", "4 (UDP 0.0.0.0:53, no peer)", "…"] {
            #expect(
                Self.headline("poll", "2 fds: \(connection), \(other)")
                    == "Main thread waits for events of any of 2 files",
                "\(other)")
        }
    }

    @Test("A chain of locks ends with what its last thread does")
    func chain() {
        func headline(_ chain: [(thread: Int, holder: Int?, call: Int, subject: String)]) -> String? {
            var facts = Samples.facts()
            facts.evidence.state = "S"
            facts.evidence.syscall = "202 0x7 0x1 0x1 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
            facts.evidence.waits = chain.map { wait in
                WaitDetails(
                    process: 4242, thread: wait.thread, name: "t\(wait.thread)",
                    syscall: "\(wait.call) 0x7 0x1 0x1 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad", subject: wait.subject,
                    holder: wait.holder.map {
                        .init(relation: .holds, process: 4242, thread: $0, name: "t\($0)", state: "S")
                    },
                    sources: [])
            }
            var capture = Samples.capture
            capture.threads[0].syscall = facts.evidence.syscall
            return Explanation(of: Samples.report(facts, capture: capture)).headline
        }
        let reads = "fd 5: TCP 10.0.0.1:34658 → 10.0.0.7:5432, ESTABLISHED, nothing to read"
        #expect(
            headline([(4242, 4245, 202, "mutex"), (4245, nil, 0, reads)])
                == "Main thread waits for a lock that thread 4245 (t4245) holds, which waits for an answer from 10.0.0.7:5432"
        )
        #expect(
            headline([(4242, 4245, 202, "mutex"), (4245, 4246, 202, "mutex"), (4246, nil, 0, reads)])
                == "Main thread waits for a lock that thread 4245 (t4245) holds; at the end of the chain, thread 4246 (t4246) "
                + "waits for an answer from 10.0.0.7:5432")
        #expect(headline([(4242, 4242, 202, "mutex")]) == "Main thread waits for a lock that it holds itself")
    }

    @Test("A line does not say twice that the app is stopped")
    func stoppedOnce() {
        var facts = Samples.facts()
        facts.evidence.state = "T"
        let explanation = Explanation(of: Samples.report(facts))
        #expect(explanation.culprit == "Main thread is stopped by a signal")
        #expect(explanation.line.hasPrefix("Main thread is stopped by a signal (state T) \u{b7} "))
        #expect(explanation.line.matches(of: /stopped/).count == 1)
    }

    @Test(
        "A call and its object are described without the kernel's terms",
        arguments: [
            (
                "recvfrom", "fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:8080, ESTABLISHED",
                "waits for an answer from 127.0.0.1:8080"
            ),
            ("recvfrom", nil, "waits for data from a socket"),
            (
                "read", "fd 7: Unix socket /run/db.sock, not accepted yet, nothing to read",
                "waits until Unix socket /run/db.sock accepts its connection"
            ),
            (
                "poll", "fd 7: Unix socket /run/db.sock, not accepted yet, nothing to read",
                "waits until Unix socket /run/db.sock accepts its connection"
            ),
            (
                "epoll_wait", "fd 4: epoll of 1 fd: 5 (TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED, 12 bytes to read)",
                "waits for events although 12 bytes have come from 127.0.0.1:80"
            ),
            ("select", "no fd", "sleeps because its own code told it to"),
            (
                "read", "fd 3: /run/feed (fifo), other end in pid 2 \"cat\"",
                "waits for data from cat (pid 2) through /run/feed (fifo)"
            ),
            (
                "recvfrom",
                "fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:5432, ESTABLISHED, nothing to read, other end in pid 9 \"postgres\"",
                "waits for an answer from 127.0.0.1:5432 (postgres)"
            ),
            ("read", "fd 0: pipe, other end in pid 2 \"cat\"", "waits for data from cat (pid 2) through a pipe"),
            ("read", "fd 0: pipe, other end in this process", "waits for data from a pipe"),
            (
                "recvmsg", "fd 4: Unix socket, other end in pid 2 \"kid\", nothing to read",
                "waits for data from kid (pid 2) through a Unix socket"
            ),
            (
                "write", "fd 1: pipe, other end in pid 2 \"cat\"",
                "waits for cat (pid 2) to take its data through a pipe"
            ),
            ("write", "fd 1: pipe", "waits to write to a pipe"),
            ("read", "fd 0: terminal /dev/pts/3", "waits for input from a terminal"),
            ("read", "fd 5: eventfd", "waits until another thread or process wakes it (eventfd)"),
            ("read", "fd 5: timerfd", "waits for a timer (timerfd)"),
            (
                "poll", "fd 3: TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED, nothing to read",
                "waits for an answer from 127.0.0.1:80"
            ),
            ("poll", "fd 3: TCP 127.0.0.1:5 → 10.0.0.1:80, SYN_SENT", "waits for a connection to 10.0.0.1:80"),
            ("poll", "fd 3: TCP 127.0.0.1:80, LISTEN, no connection to accept", "waits for a connection"),
            ("poll", "fd 3: pipe", "waits for events of a pipe"),
            ("select", "2 fds: 4 (eventfd), 3 (pipe)", "waits for events of any of 2 files"),
            ("epoll_wait", "fd 6: epoll of 9 fds: 4 (eventfd), …", "waits for events of any of 9 files"),
            ("epoll_wait", "fd 6: epoll of 1 fd: 3 (timerfd)", "waits for a timer (timerfd)"),
            ("poll", "no fd", "sleeps because its own code told it to"), ("poll", nil, "waits for events"),
            ("read", nil, "waits for data"),
            ("write", "fd 1: TCP 10.0.0.1:80 → 10.0.0.2:999, ESTABLISHED", "waits for 10.0.0.2:999 to take its data"),
            ("connect", "fd 3: TCP 10.0.0.1:80 → 10.0.0.2:443, SYN_SENT", "waits for a connection to 10.0.0.2:443"),
            ("accept", "fd 3: TCP 0.0.0.0:80, LISTEN", "waits for a connection"),
            ("flock", "fd 3: /var/lock/cache, unlocked", "waits for a file lock on /var/lock/cache"),
            ("futex", nil, "waits for a lock or for another thread"),
            ("wait4", nil, "waits for a child process to end"),
            (
                "openat", "/mnt/photos/1.jpg on nfs4 at /mnt/photos",
                "waits to open /mnt/photos/1.jpg on nfs4 at /mnt/photos"
            ),
            ("fsync", "fd 5: /data/base", "waits for a disk to write /data/base"),
            ("newfstatat", "/mnt/x", "waits for a file system: /mnt/x"),
            ("clone3", nil, "waits for a child process to start its program"),
            ("msgrcv", nil, "waits for a message"), ("semop", nil, "waits for a semaphore"),
            ("msgsnd", "System V message queue 3", "waits for room in System V message queue 3"),
            ("rt_sigtimedwait", "SIGUSR1 or SIGTERM", "waits for SIGUSR1 or SIGTERM"),
            ("io_uring_enter", "fd 5: io_uring of 1 fd: 4 (pipe)", "waits for events of a pipe"),
            (
                "epoll_wait", "fd 7: epoll of 1 fd: 6 (epoll of 1 fd: 4 (eventfd))",
                "waits until another thread or process wakes it (eventfd)"
            ),
        ] as [(String, String?, String)])
    func calls(call: String, subject: String?, words: String) {
        #expect(Self.headline(call, subject) == "Main thread \(words)")
    }

    @Test("The holder is named")
    func holders() {
        func holder(
            _ relation: WaitRelation, of process: Int = 4244, thread: Int? = nil
        ) -> WaitDetails.Holder {
            .init(relation: relation, process: process, thread: thread, name: "worker", state: "S")
        }
        #expect(
            Self.headline("futex", "mutex", holder(.holds, of: 4242, thread: 4245))
                == "Main thread waits for a lock that thread 4245 (worker) holds")
        #expect(
            Self.headline("futex", "mutex", holder(.holds, thread: 4245))
                == "Main thread waits for a lock that pid 4244 (worker) holds")
        #expect(
            Self.headline("futex", "thread", holder(.ends, of: 4242, thread: 4245))
                == "Main thread waits for the end of thread 4245 (worker)")
        #expect(
            Self.headline("flock", "fd 3: /x", holder(.locks))
                == "Main thread waits for a file lock on /x of pid 4244 (worker)")
        #expect(
            Self.headline("openat", "/x", holder(.locks)) == "Main thread waits to open /x, leased by pid 4244 (worker)"
        )
        #expect(
            Self.headline("futex", "mutex held by thread 12, which has ended", nil)
                == "Main thread waits for a lock whose holder has ended")
        #expect(Self.headline("wait4", "child", holder(.child)) == "Main thread waits for pid 4244 (worker) to end")
        #expect(
            Self.headline("wait4", "any child", holder(.anyChild)) == "Main thread waits for a child process to end")
    }

    @Test("The consumer of the CPU is described as in the fault")
    func starved() throws {
        let report = try #require(Causes.all.first { $0.name == "starved" }?.report)
        for (party, words) in [
            (Blame.Party.machine, "gets no CPU: others have it"), (.appAndMachine, "computes, but others have the CPU"),
            (.app, "gets no CPU: the app's other threads and processes have it"),
        ] {
            #expect(Headline.text(of: report, fault: party) == "Main thread \(words)")
        }
    }

    @Test("If the system call is unknown, the kernel's function replaces it")
    func kernelFunction() {
        var facts = Samples.facts()
        facts.evidence.syscall = nil
        var capture = Samples.capture
        capture.threads[0].syscall = nil
        capture.threads[0].waitChannel = "hrtimer_nanosleep"
        let report = Samples.report(facts, capture: capture)
        #expect(Explanation(of: report).headline == "Main thread sleeps because its own code told it to")
    }

    @Test("A call without a phrase of its own keeps the verdict, which a wait in the kernel completes")
    func others() {
        #expect(Self.headline("getrandom") == nil)
        #expect(Self.headline("getrandom", state: "D") == "Main thread waits for a disk or another device")
    }

    /// Those without evidence, an exited main thread and broken rules are left to the verdict.
    private static let causes = Causes.all.map(\.name).filter {
        !$0.hasPrefix("crash") && !["unknown", "exited", "background-task"].contains($0)
    }

    @Test("A broken lifecycle rule is not hidden by the thread's later call, nor is that call judged")
    func agreesWithVerdict() throws {
        let tasks = try #require(Causes.all.first { $0.name == "background-task" }?.report)
        #expect(Explanation(of: tasks).headline == nil)
        // The capture shows the thread in a different call than the one behind the verdict.
        let uninterruptible = try #require(Causes.all.first { $0.name == "uninterruptible" }?.report)
        #expect(Explanation(of: uninterruptible).headline == "Main thread waits for a disk to write its data")
    }

    @Test("Every verdict on a hang has a headline without the kernel's terms", arguments: causes)
    func verdicts(cause: String) throws {
        let report = try #require(Causes.all.first { $0.name == cause }?.report)
        let headline = try #require(Explanation(of: report).headline)
        for term in ["futex", "recvfrom", "epoll", "uninterruptible", "0x"] {
            #expect(!headline.contains(term), "\(headline)")
        }
    }

    @Test("The line for lists and messages has the app's function, then the kernel's words")
    func line() throws {
        var facts = Samples.facts()
        facts.evidence.state = "S"
        facts.evidence.syscall = "74 0x5 0x1 0x1 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
        facts.evidence.waits = []
        var capture = Samples.capture
        capture.threads[0].syscall = facts.evidence.syscall
        let explanation = Explanation(of: Samples.report(facts, capture: capture))
        let own = try #require(explanation.calls.first)
        let place = own.function + (own.source.map { " (\($0))" } ?? "")
        let culprit = try #require(explanation.culprit)
        #expect(own.isApplication)
        let headline = try #require(explanation.headline)
        #expect(culprit == "\(headline) in \(place)")
        #expect(explanation.verdict.hasPrefix("Main thread "))
        #expect(explanation.line == "\(culprit) · \(explanation.verdict.dropFirst("Main thread ".count))")
    }

    @Test("The function appears where it is easy to read")
    func places() throws {
        func culprit(_ number: Int, _ findings: [Finding] = []) -> String? {
            var facts = Samples.facts()
            facts.evidence.syscall = "\(number) 0x5 0x1 0x1 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
            facts.evidence.waits = []
            var capture = Samples.capture
            capture.threads[0].syscall = facts.evidence.syscall
            var report = Samples.report(facts, capture: capture)
            report.body.linux?.findings = findings
            return Explanation(of: report).culprit
        }
        #expect(
            culprit(230) == "Main thread sleeps in Socket.receive() (Socket.swift:41) because its own code told it to")
        let worker = Finding(kind: .otherThread, text: "Thread 7 computes in crunch()", source: "frame 0", thread: 7)
        #expect(culprit(7, [worker]) == "Thread 7 computes in crunch()")
        let lookup = Finding(kind: .nameLookup, text: "A host name is being looked up (getaddrinfo)", source: "frame 3")
        #expect(
            culprit(7, [lookup])
                == "A host name is being looked up (getaddrinfo), in Socket.receive() (Socket.swift:41)")
    }

    @Test("A thread that was stopped has no function to name", arguments: ["T", "t"] as [Character])
    func stopped(state: Character) {
        var facts = Samples.facts()
        facts.evidence.state = state
        let explanation = Explanation(of: Samples.report(facts, capture: Samples.capture))
        #expect(explanation.headline != nil && explanation.culprit == explanation.headline)
    }
}
