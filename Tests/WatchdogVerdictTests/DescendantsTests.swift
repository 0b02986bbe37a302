// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogVerdict

/// The main process is 1; all threads consist of a call and a few frames.
@Suite("Another stuck process while the main thread only waits")
struct DescendantsTests {
    private static let numbers = [
        "read": 0, "write": 1, "open": 2, "poll": 7, "select": 23, "pause": 34, "recvfrom": 45, "wait4": 61,
        "flock": 73, "fcntl": 72, "accept": 43, "rt_sigtimedwait": 128, "rt_sigsuspend": 130, "futex": 202,
        "clock_nanosleep": 230, "epoll_wait": 232, "openat": 257,
    ]
    private static let images = ["app", "libc.so.6"]

    static func syscall(_ name: String) -> String {
        numbers[name].map { "\($0) 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00" } ?? name
    }

    private static func capture(_ threads: [CapturedThread]) -> CapturedProcess {
        CapturedProcess(
            method: .ptrace, threads: threads,
            images: images.map {
                BinaryImage(base: 0, size: 4096, buildID: nil, path: "/x/\($0)", name: $0, architecture: "x86_64")
            })
    }

    /// A thread in a function of libc, called by these.
    private static func thread(_ id: Int, _ call: String, _ frames: [String], _ state: String) -> CapturedThread {
        CapturedThread(
            id: id, name: "t\(id)", state: state, syscall: syscall(call), runNanoseconds: 100_000_000,
            frames: (["call"] + frames).enumerated().map { index, name in
                Frame(
                    address: 1, imageIndex: index == 0 ? 1 : 0, imageOffset: 1, symbol: name, symbolLocation: 0,
                    trust: .cfi)
            })
    }

    static func wait(
        _ process: Int, _ call: String, _ subject: String?, _ holder: WaitDetails.Holder? = nil
    ) -> WaitDetails {
        WaitDetails(
            process: process, thread: process, name: "p\(process)", syscall: syscall(call), subject: subject,
            holder: holder, sources: [])
    }

    /// A process that is in the same call in both readings.
    static func process(
        _ pid: Int, below parent: Int = 1, _ name: String, in call: String, _ subject: String? = nil,
        holder: WaitDetails.Holder? = nil, from frames: [String] = [], state: Character = "S"
    ) -> OtherProcess {
        var process = OtherProcess(pid: pid, parentPID: parent, name: name, state: state)
        process.waits = subject == nil && holder == nil ? [] : [wait(pid, call, subject, holder)]
        process.capture = capture([thread(pid, call, frames, String(state))])
        return process
    }

    static let cat = process(2, "cat", in: "openat", "/run/fifo", from: ["open_feed"])

    private static func finding(
        _ call: String, on subject: String? = nil, holder: WaitDetails.Holder? = nil, from frames: [String] = ["main"],
        threads: Int = 1, strain: Strain? = nil, awaits: Finding.Awaited = .answer, _ others: [OtherProcess]
    ) -> Finding? {
        var evidence = HangEvidence(
            state: "S", syscall: syscall(call), processorCount: 2, waits: [wait(1, call, subject, holder)])
        evidence.strain = strain
        let workers = (1..<threads).map { thread(100 + $0, "futex", ["pool_worker"], "S") }
        return Finding.all(
            in: capture([thread(1, call, frames, "S")] + workers), main: 1, evidence: evidence,
            tree: Descendants(main: 1, others: others), awaits: awaits
        ).first { $0.kind == .otherProcess }
    }

    // MARK: - The main thread's wait

    @Test(
        "A wait for a signal, a child or its output names the stuck child",
        arguments: [
            ("rt_sigsuspend", nil, "waits for signals"), ("rt_sigtimedwait", nil, "waits for signals"),
            ("pause", nil, "waits for signals"), ("read", "fd 3: signalfd", "waits for signals"),
            ("wait4", "any child", "waits for a child"),
            ("read", "fd 3: pipe, other end in pid 2 \"cat\"", "waits for a child's output"),
            (
                "poll", "2 fds: 3 (pipe, other end in pid 2 \"cat\"), 0 (terminal /dev/pts/1)",
                "waits for a child's output"
            ),
            ("write", "fd 3: pipe, other end in pid 2 \"cat\"", "waits for a child to read from it"),
            ("poll", "2 fds: 3 (signalfd), 4 (/dev/ptmx)", "waits for signals"),
            ("poll", "2 fds: -1, 4 (pipe, other end in this process)", "waits in its loop"),
            ("poll", "3 fds: 6 (signalfd), 4 (/dev/ptmx), -1", "waits for signals"),
            ("epoll_wait", "fd 5: epoll of 1 fd: 4 (pidfd of pid 2)", "waits for signals"),
            ("select", "fd 3: pipe, other end in this process", "waits in its loop"),
            ("select", "fd 3: pipe, other end in this process and pid 2 \"cat\"", "waits in its loop"),
            ("poll", "fd 3: TCP 0.0.0.0:80, LISTEN, no connection to accept", "waits in its loop"),
            (
                "recvfrom",
                "fd 3: TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED, nothing to read, other end in pid 2 \"cat\"",
                "waits for a child's output"
            ),
            (
                "poll",
                "2 fds: 4 (eventfd), 3 (TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED, nothing to read, "
                    + "other end in pid 2 \"cat\")", "waits for a child's output"
            ),
        ] as [(String, String?, String)])
    func waits(call: String, subject: String?, words: String) throws {
        let finding = try #require(Self.finding(call, on: subject, [Self.cat]))
        #expect(
            finding.text
                == "Process 2 \"cat\" is blocked in openat (/run/fifo), from open_feed, while the main thread \(words)")
        #expect(finding.processes == [2])
    }

    @Test(
        "A wait that may be the app's own names nobody",
        arguments: [
            ("clock_nanosleep", nil), ("recvfrom", "fd 3: TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED"),
            ("poll", "fd 3: TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED, nothing to read"), ("poll", nil),
            ("poll", "2 fds: 3 (pipe), 4"), ("poll", "2 fds: -1, -1"),
            ("poll", "5 fds: 3 (pipe), 4 (pipe), 5 (pipe), 6 (pipe), …"),
            ("poll", "2 fds: 3 (pipe), 4 (Unix socket /run/dbus)"), ("poll", "no fd"),
            ("write", "fd 3: pipe, other end in pid 2 \"cat\" and pid 99 \"shell\""), ("read", "fd 0: pipe"),
            ("read", "fd 0: pipe, other end in pid 99 \"shell\""), ("futex", nil),
        ] as [(String, String?)])
    func own(call: String, subject: String?) {
        #expect(Self.finding(call, on: subject, [Self.cat]) == nil)
    }

    @Test("A wait for a child's pidfd names that child, and its own wait")
    func pidfd() throws {
        let holder = WaitDetails.Holder(relation: .child, process: 2, name: "cat", state: "S")
        let subject = "fd 3: pidfd of pid 2 \"cat\""
        let finding = try #require(Self.finding("poll", on: subject, holder: holder, threads: 3, [Self.cat]))
        #expect(finding.text.hasSuffix(", from open_feed, while the main thread waits for a child"))
        #expect(
            Self.finding("poll", on: subject, holder: holder, [Self.process(3, "cat", in: "openat", "/x")]) == nil,
            "it waits for another one")
    }

    @Test("A wait for another thread names a stuck child that may do that thread's work")
    func pool() throws {
        let finding = try #require(
            Self.finding("futex", from: ["pthread_cond_wait", "get_result", "main"], threads: 2, [Self.cat]))
        #expect(finding.text.hasSuffix(", while the main thread waits for another of its threads"))
        #expect(Self.finding("futex", from: ["take", "main"], threads: 2, [Self.cat]) == nil)
        let alone = Self.finding("futex", from: ["sem_wait", "get_result", "main"], [Self.cat])
        #expect(alone?.text.hasSuffix(", while the main thread waits for a lock or a wake-up") == true)
        let sleeper = Self.process(2, "worker", in: "read", "fd 3: pipe")
        #expect(Self.finding("futex", from: ["pthread_cond_wait", "main"], threads: 2, [sleeper]) == nil)
    }

    @Test("A poll of the process's own pipe names no child if another thread may end it")
    func threads() {
        let subject = "fd 3: pipe, other end in this process"
        #expect(Self.finding("poll", on: subject, threads: 1, [Self.cat]) != nil)
        #expect(Self.finding("poll", on: subject, threads: 2, [Self.cat]) == nil)
        #expect(Self.finding("poll", on: subject, from: ["aeMain", "main"], threads: 2, [Self.cat]) != nil)
    }

    @Test("A thread that waits for a child is replaced by the child; any other thread is not")
    func otherThread() {
        func kinds(_ call: String, _ others: [OtherProcess]) -> [Finding.Kind] {
            Finding.all(
                in: Self.capture([
                    Self.thread(1, "epoll_wait", ["aeMain", "main"], "S"), Self.thread(9, call, ["watch_child"], "S"),
                ]), main: 1, evidence: HangEvidence(processorCount: 2), tree: Descendants(main: 1, others: others)
            ).map(\.kind)
        }
        #expect(kinds("wait4", [Self.cat]) == [.idleEventLoop, .otherProcess])
        #expect(kinds("wait4", []) == [.idleEventLoop, .otherThread])
        #expect(kinds("flock", [Self.cat]) == [.idleEventLoop, .otherThread])
    }

    @Test("A capture on request names nobody, and a process outside of the tree is not named")
    func outside() {
        #expect(Self.finding("pause", awaits: .nothing, [Self.cat]) == nil)
        #expect(Self.finding("pause", awaits: .readiness, [Self.cat]) != nil)
        #expect(Self.finding("pause", [Self.process(2, below: 7, "cat", in: "openat")]) == nil)
    }

    @Test("If the main thread waits for one child, another child's hang does not explain it")
    func otherChild() {
        let children = [Self.process(3, "helper", in: "accept"), Self.cat]
        let helper = WaitDetails.Holder(relation: .child, process: 3, name: "helper", state: "S")
        #expect(Self.finding("wait4", on: "child", holder: helper, children) == nil)
        #expect(Self.finding("read", on: "fd 3: pipe, other end in pid 3 \"helper\"", children) == nil)
        for (kind, end) in [("pipe", ""), ("Unix socket", ", nothing to read")] {
            let file = "fd 3: \(kind), other end in pid 3 \"helper\" and others\(end)"
            #expect(Self.finding("read", on: file, children)?.processes == [2])
        }
    }

    @Test("A child that waits for the main process, which waits for it, is named with that")
    func mutual() throws {
        let full = Self.process(2, "seq", in: "write", "fd 1: pipe, other end in pid 1 \"app\"")
        let holder = WaitDetails.Holder(relation: .child, process: 2, name: "seq", state: "S")
        let finding = try #require(Self.finding("wait4", on: "child", holder: holder, [full]))
        #expect(finding.text.hasSuffix(", while the main thread waits for a child: each waits for the other"))
        let logger = Self.process(2, "seq", in: "write", "fd 1: pipe, other end in pid 3 \"logger\"")
        #expect(Self.finding("wait4", on: "child", holder: holder, [logger])?.text.hasSuffix("for a child") == true)
    }

    // MARK: - What the child does

    @Test(
        "An idle child is not named",
        arguments: [
            process(2, "server", in: "epoll_wait", from: ["", "aeMain", "main"]),
            process(2, "server", in: "poll", "fd 3: pipe", from: ["main"]), process(2, "server", in: "accept"),
            process(2, "init", in: "rt_sigtimedwait"), process(2, "pool", in: "futex", from: ["pthread_cond_wait"]),
            process(2, "worker", in: "read", "fd 3: pipe, other end in pid 1 \"master\""),
            process(2, "shell", in: "read", "fd 0: terminal /dev/pts/1"),
            process(2, "zombie", in: "openat", state: "Z"), process(2, "runs", in: "running", state: "S"),
        ])
    func idle(child: OtherProcess) {
        #expect(Self.finding("pause", [child]) == nil)
    }

    @Test("A child that a second reading shows elsewhere is moving, and is not named")
    func moves() {
        var child = Self.cat
        child.waits = [Self.wait(2, "write", "/var/log/x")]
        #expect(Self.finding("pause", [child]) == nil)
        child.waits = []
        #expect(Self.finding("pause", [child])?.text.hasPrefix("Process 2 \"cat\" is blocked in openat, from") == true)
    }

    @Test("A stopped child is named as such; one in uninterruptible sleep only if both readings show it")
    func held() {
        var child = OtherProcess(pid: 2, parentPID: 1, name: "server", state: "T")
        #expect(Self.finding("pause", [child])?.text.hasPrefix("Process 2 \"server\" is stopped, while") == true)
        child.state = "t"
        #expect(Self.finding("pause", [child])?.text.contains("is stopped by a tracer") == true)
        child.state = "D"
        #expect(Self.finding("pause", [child]) == nil)
        let both = Self.process(2, "server", in: "openat", "/mnt/x", state: "D")
        #expect(Self.finding("pause", [both])?.text.contains("is in uninterruptible sleep in openat (/mnt/x)") == true)
    }

    @Test("A child that used half of a CPU is named; less is not enough")
    func computes() {
        let child = Self.process(2, "node", in: "running", from: ["crunch"], state: "R")
        func named(_ time: Duration) -> String? {
            var strain = Strain(window: .seconds(1))
            strain.consumers = [
                .init(process: 9, name: "make", time: .milliseconds(900)), .init(process: 2, name: "node", time: time),
            ]
            return Self.finding("pause", strain: strain, [child])?.text
        }
        #expect(
            named(.milliseconds(500))
                == "Process 2 \"node\" computes (0.50 s of 1.00 s on a CPU), from crunch, while the main thread waits for signals"
        )
        #expect(named(.milliseconds(500) - .nanoseconds(1)) == nil)
    }

    @Test("A runnable child that got no CPU is named only if the CPUs are full")
    func crowdedOut() {
        var child = Self.process(2, "node", in: "running", from: ["crunch"], state: "R")
        func named(_ total: Duration, stolen: Duration = .zero, busy: Duration? = nil) -> String? {
            var strain = Strain(window: .seconds(1))
            strain.consumers = [.init(process: 9, name: "make", time: .seconds(1))]
            strain.processorTime = .init(total: total, own: .zero)
            strain.stolen = stolen
            strain.busy = busy
            return Self.finding("pause", strain: strain, [child])?.text
        }
        #expect(
            named(.milliseconds(1_800))
                == "Process 2 \"node\" could run, but had a CPU for only 0.00 s of 1.00 s, from crunch, while the main "
                + "thread waits for signals")
        #expect(named(.milliseconds(1_799)) == nil)
        #expect(named(.milliseconds(1_000), stolen: .milliseconds(800)) != nil)
        // Most of the time went to processes that have exited.
        #expect(named(.milliseconds(100), busy: .milliseconds(1_800)) != nil)
        #expect(named(.milliseconds(100), busy: .milliseconds(1_799)) == nil)
        child.state = "S"
        #expect(named(.milliseconds(2_000)) == nil)
    }

    @Test("Without CPU observations, a child that is runnable twice computes after 0.1 s of CPU time")
    func runnable() {
        var child = Self.process(2, "node", in: "running", from: ["crunch"], state: "R")
        #expect(Self.finding("pause", [child])?.text.contains("\"node\" computes, from crunch,") == true)
        child.capture?.threads[0].runNanoseconds -= 1
        #expect(Self.finding("pause", [child]) == nil)
        child = Self.process(2, "node", in: "running", from: ["crunch"], state: "R")
        child.state = "S"
        #expect(Self.finding("pause", [child]) == nil)
    }

    @Test("The only child in a call of its own code is named, even beside idle ones")
    func sleeps() {
        let reader = Self.process(3, "job", in: "recvfrom", "fd 3: TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED")
        #expect(Self.finding("rt_sigsuspend", [Self.process(2, "idle", in: "accept"), reader])?.processes == [3])
        let other = Self.process(2, "job", in: "recvfrom", "fd 3: TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED")
        #expect(Self.finding("rt_sigsuspend", [reader, other]) == nil)
        #expect(Self.finding("select", on: "fd 3: pipe", [reader]) == nil)
        #expect(Self.finding("rt_sigsuspend", threads: 2, [reader]) == nil)
        #expect(Self.finding("rt_sigsuspend", threads: 2, [Self.cat])?.processes == [2])
        #expect(Self.finding("wait4", on: "any child", threads: 2, [reader])?.processes == [3])
        #expect(Self.finding("rt_sigsuspend", [reader, Self.cat])?.processes == [2])
    }

    @Test(
        "A child in a timed sleep is named only if all others wait for it: it may be a helper between two rounds")
    func pauses() {
        let sleeper = Self.process(2, "sleep", in: "clock_nanosleep")
        #expect(Self.finding("rt_sigsuspend", [sleeper])?.processes == [2])
        let shell = Self.process(3, "sh", in: "wait4")
        let below = Self.process(2, below: 3, "sleep", in: "clock_nanosleep")
        #expect(Self.finding("rt_sigsuspend", [shell, below])?.processes == [2])
        #expect(Self.finding("rt_sigsuspend", [Self.process(4, "server", in: "accept"), sleeper]) == nil)
        #expect(Self.finding("select", on: "fd 3: pipe", [sleeper]) == nil)
    }

    @Test("A contended lock and a wait for a database's reply count as work, whatever the call")
    func work() {
        let session = Self.process(2, "postgres", in: "epoll_wait", from: ["WaitEventSetWait", "ProcSleep", "main"])
        #expect(Self.finding("select", on: "fd 3: pipe", [session])?.processes == [2])
        let mutex = Self.process(2, "worker", in: "futex", from: ["__lll_lock_wait", "store"])
        #expect(Self.finding("select", on: "fd 3: pipe", [mutex])?.processes == [2])
    }

    // MARK: - Chains and several

    @Test("The end of a chain is named, with its parent")
    func chain() {
        let shell = Self.process(3, "sh", in: "rt_sigsuspend")
        let text = Self.finding("wait4", on: "any child", [shell, Self.process(4, below: 3, "cat", in: "openat")])?.text
        #expect(
            text
                == "Process 4 \"cat\", a child of 3 \"sh\", is blocked in openat, while the main thread waits for a child"
        )
    }

    @Test("A process that waits for a lock is not the cause if its holder is stuck, nor stuck if its holder is idle")
    func locks() {
        func waiter(_ pid: Int) -> OtherProcess {
            Self.process(
                pid, "waiter", in: "fcntl", "fd 5: /accept.lock",
                holder: .init(relation: .locks, process: 4, name: "holder", state: "S"))
        }
        let reads = Self.process(4, "holder", in: "read", "fd 6: Unix socket, nothing to read", from: ["read_request"])
        let finding = Self.finding("rt_sigsuspend", [waiter(2), waiter(3), reads])
        #expect(finding?.processes == [4])
        #expect(finding?.text.hasSuffix("; 2 more wait for it") == true)
        #expect(Self.finding("rt_sigsuspend", [waiter(2), waiter(3), Self.process(4, "holder", in: "accept")]) == nil)
        #expect(Self.finding("rt_sigsuspend", [waiter(2)])?.processes == [2])
    }

    @Test("In a pipeline, the process that the others wait for is named")
    func pipeline() {
        let writer = Self.process(2, "seq", in: "write", "fd 1: pipe, other end in pid 3 \"flock\"")
        let locked = Self.process(3, "flock", in: "flock", "/lock")
        #expect(Self.finding("wait4", on: "any of 2 children", [writer, locked])?.processes == [3])
        let reader = Self.process(4, "sort", in: "read", "fd 0: pipe, other end in pid 2 \"cat\"")
        #expect(Self.finding("wait4", on: "any of 2 children", [Self.cat, reader])?.processes == [2])
    }

    @Test("Processes that wait for each other are all named")
    func circle() {
        let one = Self.process(2, "a", in: "write", "fd 1: pipe, other end in pid 3 \"b\"")
        let other = Self.process(3, "b", in: "write", "fd 1: pipe, other end in pid 2 \"a\"")
        let finding = Self.finding("pause", [one, other])
        #expect(finding?.processes == [2, 3])
        #expect(finding?.text.hasPrefix("2 processes are stuck: 2 \"a\" is blocked in write (") == true)
    }

    @Test("Of several stuck processes, three are described and the others counted")
    func several() throws {
        let finding = try #require(Self.finding("pause", (2...6).map { Self.process($0, "w\($0)", in: "flock") }))
        #expect(finding.processes == [2, 3, 4, 5, 6])
        #expect(finding.text.hasPrefix("5 processes are stuck: 2 \"w2\" is blocked in flock"))
        #expect(finding.text.contains("4 \"w4\" is blocked in flock"))
        #expect(!finding.text.contains("w5"))
        #expect(finding.text.contains(", and 2 more, while the main thread waits for signals"))
    }

    @Test("Parents that form a cycle are followed once")
    func parents() {
        let processes = [Self.process(2, below: 3, "a", in: "flock"), Self.process(3, below: 2, "b", in: "flock")]
        #expect(Self.finding("pause", processes) == nil)
        #expect(Self.finding("pause", [Self.process(1, below: 1, "main", in: "flock")]) == nil)
    }

    // MARK: - The verdict

    @Test("The verdict names the process before the shares, unless the wait already does")
    func verdict() throws {
        let finding = try #require(Self.finding("pause", [Self.cat]))
        var verdict = Verdict(kind: .blocked, line: "Main thread blocked 1.00 s in pause · 0.0 % running", brief: "")
        verdict.add(finding)
        #expect(
            verdict.line
                == "Main thread blocked 1.00 s in pause; process 2 \"cat\" is blocked in openat (/run/fifo), from open_feed"
                + " · 0.0 % running")
        let line = "Main thread blocked 1.00 s in wait4 (child 2 \"cat\", sleeping) · 0.0 % running"
        verdict = Verdict(kind: .blocked, line: line, brief: "")
        verdict.add(finding)
        #expect(verdict.line == line)
        // Process 12 is a different one.
        verdict = Verdict(kind: .blocked, line: line.replacing(" 2 ", with: " 12 "), brief: "")
        verdict.add(finding)
        #expect(verdict.line.contains("; process 2 \"cat\" is blocked in openat"))
        verdict = Verdict(kind: .spinning, line: "Main thread spinning · 99 % running", brief: "")
        verdict.add(finding)
        #expect(verdict.line == "Main thread spinning · 99 % running")
    }

    @Test("The verdict names a thread that is active, and none that only sleeps")
    func verdictOfThread() {
        let line = "Main thread blocked 1.00 s in futex (the end of thread 7 \"t7\") · 0.0 % running"
        var finding = Finding(
            kind: .otherThread,
            text: "Thread 7 \"t7\" computes, from crunch, while the main thread waits for a thread's end",
            source: "", thread: 7)
        var verdict = Verdict(kind: .blocked, line: line, brief: "")
        verdict.add(finding)
        #expect(verdict.line.hasSuffix("\"t7\"); thread 7 \"t7\" computes, from crunch · 0.0 % running"))
        finding.isAsleep = true
        verdict.line = line
        verdict.add(finding)
        #expect(verdict.line == line)
    }

    @Test("A main thread that slept for 80 % may wait for others; for less it does not")
    func mostlyAsleep() {
        var verdict = Verdict(kind: .partlyRunning, runningTenths: 150, waitingTenths: 50, line: "", brief: "")
        #expect(verdict.mayWaitForOthers)
        verdict.waitingTenths = 51
        #expect(!verdict.mayWaitForOthers)
        #expect(Verdict(kind: .blocked, line: "", brief: "").mayWaitForOthers)
        #expect(!Verdict(kind: .starved, runningTenths: 0, waitingTenths: 0, line: "", brief: "").mayWaitForOthers)
    }
}
