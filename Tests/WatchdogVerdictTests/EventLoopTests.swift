// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogVerdict

@Suite("Event loops and other active threads")
struct EventLoopTests {
    private static let calls = [
        "epoll": "281 0x1 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", "poll": "7 0x1 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00",
        "select": "23 0x1 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", "futex": "202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f00",
        "sigsuspend": "130 0x1 0x8 0x0 0x0 0x0 0x0 0x7ffe 0x7f00",
        "nanosleep": "230 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f00",
        "recvfrom": "45 0x7 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00",
        "munmap": "11 0x7f2f 0x1000 0x3 0x0 0x0 0x0 0x7ffe 0x7f00", "running": "running",
    ]
    private static let images = ["app", "libc.so.6", "libglib-2.0.so.0", "python3.11", "beam.smp", "???"]

    /// Frames such as `poll@libc.so.6`; those without an image belong to the app.
    private static func thread(_ id: Int, _ call: String, _ frames: [String], state: String = "S") -> CapturedThread {
        CapturedThread(
            id: id, name: "t\(id)", state: state, syscall: calls[call],
            frames: frames.map { text in
                let parts = text.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
                let image = parts.count > 1 ? images.firstIndex { $0.hasPrefix(parts[1]) } ?? 0 : 0
                return Frame(
                    address: 1, imageIndex: image, imageOffset: 1, symbol: parts[0].isEmpty ? nil : parts[0],
                    symbolLocation: parts[0].isEmpty ? nil : 0, trust: .cfi)
            })
    }

    private static func findings(
        _ threads: [CapturedThread], waits: [WaitDetails] = [], evidence: HangEvidence? = nil,
        samples: ProcessSamples? = nil, awaits: Finding.Awaited = .answer
    ) -> [Finding] {
        let capture = CapturedProcess(
            method: .ptrace, threads: threads,
            images: images.map {
                BinaryImage(base: 0, size: 4096, buildID: nil, path: "/x/\($0)", name: $0, architecture: "x86_64")
            })
        return Finding.all(
            in: capture, main: 1, evidence: evidence ?? HangEvidence(processorCount: 2, waits: waits),
            samples: samples, awaits: awaits)
    }

    /// Samples over a second: for each thread its state, and the time that it ran and waited for a CPU.
    private static func samples(_ threads: [Int: (state: String, run: Duration, delay: Duration)]) -> ProcessSamples {
        var samples = ProcessSamples(
            process: 1, name: "app", path: "/x/app", time: WallTime(seconds: 0), interval: .milliseconds(100),
            duration: .seconds(1), sampleCount: 11, stacks: [], images: [])
        for (id, thread) in threads.sorted(by: { $0.key < $1.key }) {
            samples.stacks.append(.init(state: thread.state, syscall: nil, frames: []))
            samples.threads.append(
                .init(
                    id: id, name: "t\(id)", runTime: thread.run, runDelay: thread.delay,
                    runs: [.init(first: 0, count: 11, stack: samples.stacks.count - 1)]))
        }
        return samples
    }

    @Test(
        "A loop's own wait is idle",
        arguments: [
            ("epoll", ["epoll_wait@libc", "", "ngx_process_events_and_timers", "ngx_worker_process_cycle"]),
            ("sigsuspend", ["sigsuspend@libc", "ngx_master_process_cycle", "main"]),
            ("epoll", ["epoll_wait@libc", "_do_poll", "run_poll_loop", "main"]),
            ("epoll", ["epoll_wait@libc", "", "fpm_event_loop", "fpm_run", "main"]),
            ("epoll", ["epoll_wait@libc", "WaitEventSetWait", "", "PostmasterMain", "main"]),
            ("select", ["select@libc", "", "PostmasterMain", "main"]),
            ("poll", ["poll@libc", "handle_connections_sockets()", "mysqld_main(int, char**)"]),
            ("epoll", ["epoll_wait@libc", "", "fdevent_poll", "server_main_loop", "main"]),
            ("epoll", ["epoll_wait@libc", "", "aeProcessEvents", "aeMain", "main"]),
            ("poll", ["poll@libc", "@libglib", "g_main_loop_run@libglib", "main"]),
            ("poll", ["ppoll", "__CFRunLoopServiceFileDescriptors", "__CFRunLoopRun", "CFRunLoopRunSpecific"]),
            ("epoll", ["epoll_wait@libc", "@python", "@python", "_PyEval_EvalFrameDefault@python"]),
            ("futex", ["runtime.futex.abi0", "runtime.futexsleep", "runtime.notesleep", "runtime.mPark"]),
            ("epoll", ["runtime/internal/syscall.Syscall6", "runtime/internal/syscall.EpollWait", "runtime.netpoll"]),
            ("epoll", ["internal/runtime/syscall.Syscall6", "internal/runtime/syscall.EpollWait", "runtime.netpoll"]),
            (
                "epoll",
                [
                    "internal/runtime/syscall/linux.Syscall6", "internal/runtime/syscall/linux.EpollWait",
                    "runtime.netpoll", "runtime.findRunnable",
                ]
            ),
        ])
    func idle(call: String, frames: [String]) {
        #expect(Self.findings([Self.thread(1, call, frames)]).map(\.kind) == [.idleEventLoop])
    }

    @Test(
        "A wait in the app's own code is not idle, even below a loop",
        arguments: [
            ("poll", ["poll@libc", "download_feed", "main"]),
            ("poll", ["poll@libc", "download_feed", "aeProcessEvents", "aeMain", "main"]),
            ("poll", ["poll@libc", "", "aeProcessEvents", "aeMain", "main"]),
            ("poll", ["poll@libc", "@python", "_PyEval_EvalFrameDefault@python"]),
            ("futex", ["__lll_lock_wait@libc", "event_base_loop", "main"]),
            ("nanosleep", ["clock_nanosleep@libc", "migrateDatabase()", "main"]),
            ("poll", ["poll@libc", "main"]), ("poll", ["poll@libc", "", "__libc_start_call_main@libc"]),
        ])
    func notIdle(call: String, frames: [String]) {
        #expect(!Self.findings([Self.thread(1, call, frames)]).contains { $0.kind == .idleEventLoop })
    }

    @Test(
        "A wait in main, or in a function named like a loop, is a loop once it has returned from there",
        arguments: [
            ["poll@libc", "main"], ["poll@libc", "", "__libc_start_call_main@libc"], ["poll@libc", "serveLoop"],
        ])
    func returned(frames: [String]) {
        let main = Self.thread(1, "poll", frames)
        let returned = Self.samples([1: ("S", .microseconds(40), .zero)])
        #expect(Self.findings([main], samples: returned).map(\.kind) == [.idleEventLoop])
        #expect(Self.findings([main], samples: Self.samples([1: ("S", .zero, .zero)])) == [])
        let client = Self.thread(1, "poll", ["poll@libc", "download_feed", "main"])
        #expect(Self.findings([client], samples: returned) == [])
    }

    @Test("A thread that has slept, run and slept again in the same place checks for something; one long sleep is one")
    func repeatedSleep() {
        let returned = Self.samples([1: ("S", .microseconds(40), .zero)])
        let sleep = Self.thread(1, "nanosleep", ["clock_nanosleep@libc", "usleep@libc", "wait_for_lock", "main"])
        #expect(Self.findings([sleep], samples: returned).map(\.kind) == [.repeatedSleep])
        #expect(Self.findings([sleep], samples: Self.samples([1: ("S", .zero, .zero)])) == [])
        #expect(Self.findings([sleep]) == [])
        // select(2) without descriptors sleeps, too.
        let select = Self.thread(1, "select", ["select@libc", "wait_for_lock", "main"])
        let wait = WaitDetails(
            process: 1, thread: 1, name: "t1", syscall: Self.calls["select"] ?? "", subject: "no fd", sources: [])
        #expect(Self.findings([select], waits: [wait], samples: returned).map(\.kind) == [.repeatedSleep])
        #expect(Self.findings([select], samples: returned) == [])
        let busy = Self.thread(1, "nanosleep", ["clock_nanosleep@libc", "sqliteDefaultBusyCallback", "save", "main"])
        #expect(Self.findings([busy], samples: returned).map(\.kind) == [.sqliteBusy])
    }

    private static let loop = thread(1, "epoll", ["epoll_wait@libc", "uv_run", "main"])

    @Test("While the main thread waits for the memory map, only a thread that changes the map is named")
    func memoryMap() throws {
        var evidence = HangEvidence(state: "D", processorCount: 2)
        evidence.waitChannel = "vm_mmap_pgoff"
        let main = Self.thread(1, "munmap", ["munmap@libc", "main"], state: "D")
        let mapper = Self.thread(2, "running", ["mmap64@libc", "populate"], state: "R")
        let busy = Self.thread(3, "running", ["crunch", "work"], state: "R")
        var waiter = Self.thread(4, "munmap", ["munmap@libc", "shrink"], state: "D")
        waiter.waitChannel = "__vm_munmap"
        let samples = Self.samples([
            1: ("D", .zero, .zero), 2: ("R", .milliseconds(600), .zero), 3: ("R", .milliseconds(990), .zero),
            4: ("D", .zero, .zero),
        ])
        let found = try #require(
            Self.findings([main, mapper, busy, waiter], evidence: evidence, samples: samples).last)
        #expect(found.kind == .otherThread)
        #expect(found.thread == 2)
        #expect(found.text.hasSuffix(", while the main thread waits for the lock of the process's memory map"))
        #expect(Self.findings([main, busy, waiter], evidence: evidence, samples: samples) == [])
        evidence.waitChannel = "folio_wait_bit_common"
        #expect(Self.findings([main, mapper, busy, waiter], evidence: evidence, samples: samples) == [])
    }

    @Test("Beside an idle main thread, the computing thread is named before a sleeping one")
    func computes() throws {
        let sleeper = Self.thread(2, "recvfrom", ["recv@libc", "fetch"])
        let busy = Self.thread(3, "running", ["crunch", "work"], state: "R")
        let samples = Self.samples([
            1: ("S", .zero, .zero), 2: ("S", .zero, .zero), 3: ("R", .milliseconds(980), .milliseconds(20)),
        ])
        let found = try #require(Self.findings([Self.loop, sleeper, busy], samples: samples).last)
        #expect(found.kind == .otherThread)
        #expect(found.thread == 3)
        #expect(
            found.text
                == "Thread 3 \"t3\" computes (0.98 s of 1.00 s on a CPU), from crunch, while the main thread waits in its loop"
        )
        let rest = try #require(Self.findings([Self.loop, sleeper], samples: samples).last)
        #expect(rest.thread == 2)
        #expect(rest.text.hasPrefix("Thread 2 \"t2\" sleeps in recvfrom, from fetch,"))
    }

    private static func wait(
        _ thread: Int, _ call: String, _ subject: String?, for other: Int? = nil,
        _ relation: WaitRelation = .ends
    ) -> WaitDetails {
        WaitDetails(
            process: 1, thread: thread, name: "t\(thread)", syscall: calls[call] ?? call, subject: subject,
            holder: other.map { WaitDetails.Holder(relation: relation, process: 1, thread: $0, name: "t\($0)") },
            sources: [])
    }

    @Test(
        "The thread to which the wait leads is named if it computes",
        arguments: [
            (WaitRelation.ends, "waits for a thread's end"), (.holds, "waits for a lock"),
        ])
    func leads(relation: WaitRelation, words: String) throws {
        let main = Self.thread(1, "futex", ["futex_wait@libc", "main"])
        let worker = Self.thread(2, "running", ["crunch", "work"], state: "R")
        let other = Self.thread(3, "running", ["spin"], state: "R")
        let samples = Self.samples([
            1: ("S", .zero, .zero), 2: ("R", .milliseconds(900), .zero), 3: ("R", .milliseconds(990), .zero),
        ])
        let found = try #require(
            Self.findings(
                [main, worker, other], waits: [Self.wait(1, "futex", "x", for: 2, relation)], samples: samples
            ).last)
        #expect(found.kind == .otherThread)
        #expect(
            found.text
                == "Thread 2 \"t2\" computes (0.90 s of 1.00 s on a CPU), from crunch, while the main thread \(words)")
        let unknown = try #require(Self.findings([main, worker, other], samples: samples).last)
        #expect(
            unknown.text
                == "Thread 3 \"t3\" computes (0.99 s of 1.00 s on a CPU), from spin; 1 more like it, while the main thread "
                + "waits for a lock or a wake-up", "without the wait, it leads to none of both")
    }

    @Test("A joined thread that waits for a condition leads to the computing thread")
    func chain() throws {
        let main = Self.thread(1, "futex", ["futex_wait@libc", "main"])
        let joined = Self.thread(2, "futex", ["pthread_cond_wait@libc", "", "run"])
        let worker = Self.thread(3, "running", ["crunch"], state: "R")
        let samples = Self.samples([
            1: ("S", .zero, .zero), 2: ("S", .zero, .zero), 3: ("R", .milliseconds(900), .zero),
        ])
        let waits = [Self.wait(1, "futex", "the end of a thread", for: 2), Self.wait(2, "futex", "word at 0x1")]
        let found = try #require(Self.findings([main, joined, worker], waits: waits, samples: samples).last)
        #expect(found.thread == 3)
        #expect(
            found.text.hasSuffix(
                ", while the main thread waits for the end of thread 2 \"t2\", which waits for a condition"))
        let reader = Self.thread(3, "recvfrom", ["recv@libc", "fetch"])
        #expect(Self.findings([main, joined, reader], waits: waits) == [], "who sleeps may wait for the main thread")
    }

    @Test("A pool's main thread leads to the computing thread, and a lookup names the queried server")
    func pool() throws {
        let main = Self.thread(1, "futex", ["pthread_cond_wait@libc", "get", "main"])
        let lookup = Self.thread(2, "poll", ["poll@libc", "getaddrinfo@libc", "resolve"])
        var evidence = HangEvidence(processorCount: 2)
        evidence.besides = [Self.wait(2, "poll", "fd 7: UDP 127.0.0.1:5 → 127.0.0.53:53, nothing to read")]
        let found = try #require(Self.findings([main, lookup], evidence: evidence).last)
        #expect(found.kind == .otherThread && !found.isAsleep)
        #expect(
            found.text
                == "Thread 2 \"t2\" looks up a host name and waits in poll (fd 7: UDP 127.0.0.1:5 → 127.0.0.53:53, nothing to "
                + "read), from resolve, while the main thread waits for a condition")
        evidence.besides = [Self.wait(2, "recvfrom", "fd 7: UDP")]
        let moved = try #require(Self.findings([main, lookup], evidence: evidence).last)
        #expect(moved.text.contains("waits in poll, from resolve"), "it was in another call before")
        let busy = Self.thread(3, "running", ["crunch"], state: "R")
        let samples = Self.samples([1: ("S", .zero, .zero), 3: ("R", .milliseconds(900), .zero)])
        #expect(Self.findings([main, lookup, busy], samples: samples).last?.thread == 3)
    }

    @Test("A thread that collects garbage is described as such, by its name or its stack")
    func garbage() throws {
        var collector = Self.thread(2, "running", [""], state: "R")
        collector.name = "GC Thread#0"
        let samples = Self.samples([1: ("S", .zero, .zero), 2: ("R", .milliseconds(900), .zero)])
        let main = Self.thread(1, "futex", ["pthread_cond_wait@libc", "", "main"])
        let named = try #require(Self.findings([main, collector], samples: samples).last)
        #expect(named.text.hasPrefix("Thread 2 \"GC Thread#0\" collects garbage (0.90 s of 1.00 s on a CPU), while"))
        let worker = Self.thread(2, "running", ["runtime.gcDrain", "runtime.gcBgMarkWorker"], state: "R")
        #expect(Self.findings([Self.loop, worker], samples: samples).last?.text.contains("collects garbage") == true)
    }

    @Test("Generated code without a name is described as such")
    func generated() throws {
        let main = Self.thread(1, "futex", ["pthread_cond_wait@libc", "", "main"])
        let worker = Self.thread(2, "running", ["@???", "invoke", "run"], state: "R")
        let samples = Self.samples([1: ("S", .zero, .zero), 2: ("R", .milliseconds(900), .zero)])
        let found = try #require(Self.findings([main, worker], samples: samples).last)
        #expect(found.text.contains(" computes (0.90 s of 1.00 s on a CPU), in code that its runtime generated, while"))
        let named = Self.thread(2, "running", ["crunch", "@???", "run"], state: "R")
        #expect(Self.findings([main, named], samples: samples).last?.text.contains(", from crunch,") == true)
    }

    @Test("Erlang's first thread is idle in its select, even in a stripped program")
    func erlang() {
        let thread = Self.thread(1, "select", ["select@libc", "@beam", "@beam", "__libc_start_main@libc"])
        #expect(Self.findings([thread]).map(\.kind) == [.idleEventLoop])
    }

    @Test("Half of the time on or waiting for a CPU is computing; less is not")
    func computingBoundary() {
        let worker = Self.thread(2, "running", ["crunch"], state: "R")
        func thread(_ run: Duration, _ delay: Duration) -> Int? {
            Self.findings([Self.loop, worker], samples: Self.samples([2: ("S", run, delay)])).last?.thread
        }
        #expect(thread(.milliseconds(400), .milliseconds(100)) == 2)
        #expect(thread(.milliseconds(400), .milliseconds(100) - .nanoseconds(1)) == nil)
    }

    @Test("An idle worker, a moving thread and a second loop are not named; a stuck lock and state D are")
    func others() {
        func named(_ thread: CapturedThread, runs: Int = 1) -> Int? {
            var samples = Self.samples([2: ("S", .microseconds(runs == 1 ? 0 : 1), .zero)])
            if runs > 1 { samples.threads[0].runs.append(.init(first: 11, count: 1, stack: 0)) }
            return Self.findings([Self.loop, thread], samples: samples).last?.thread
        }
        #expect(named(Self.thread(2, "futex", ["pthread_cond_wait@libc", "pool_worker"])) == nil)
        #expect(named(Self.thread(2, "futex", ["__lll_lock_wait@libc", "pthread_mutex_lock@libc", "store"])) == 2)
        #expect(named(Self.thread(2, "nanosleep", ["clock_nanosleep@libc", "janitor"]), runs: 2) == nil)
        #expect(named(Self.thread(2, "poll", ["poll@libc", "uv_run", "thread"])) == nil)
        #expect(named(Self.thread(2, "recvfrom", ["recv@libc"], state: "D")) == 2)
    }

    @Test("If the main thread waits in its own code, or for a capture on request, nobody else is named")
    func notElsewhere() {
        let busy = Self.thread(3, "running", ["crunch"], state: "R")
        let samples = Self.samples([3: ("R", .seconds(1), .zero)])
        let own = Self.thread(1, "recvfrom", ["recv@libc", "signIn"])
        #expect(Self.findings([own, busy], samples: samples) == [])
        #expect(Self.findings([Self.loop, busy], samples: samples, awaits: .nothing).map(\.kind) == [.idleEventLoop])
        let sleeper = Self.thread(2, "recvfrom", ["recv@libc", "fetch"])
        #expect(Self.findings([Self.loop, sleeper], awaits: .readiness).map(\.kind) == [.idleEventLoop])
    }

    @Test("A main thread that joins another names that one if it computes, otherwise any computing thread")
    func joined() {
        let main = Self.thread(
            1, "futex", ["__futex_abstimed_wait_common@libc", "__pthread_clockjoin_ex@libc", "java"])
        let wait = WaitDetails(
            process: 1, thread: 1, name: "java", syscall: Self.calls["futex"] ?? "", subject: "thread",
            holder: .init(relation: .ends, process: 1, thread: 2, name: "main", state: "R"), sources: [])
        let work = Self.thread(2, "running", ["Interpreter"], state: "R")
        let collector = Self.thread(3, "running", ["G1ParScanThreadState::trim_queue"], state: "R")
        let both = Self.samples([2: ("R", .milliseconds(600), .zero), 3: ("R", .milliseconds(900), .zero)])
        #expect(Self.findings([main, work, collector], waits: [wait], samples: both).last?.thread == 2)
        let parked = Self.thread(2, "futex", ["pthread_cond_wait@libc", "Parker::park"])
        let one = Self.samples([2: ("S", .zero, .zero), 3: ("R", .milliseconds(900), .zero)])
        #expect(Self.findings([main, parked, collector], waits: [wait], samples: one).last?.thread == 3)
        #expect(Self.findings([main, parked], waits: [wait], samples: one) == [])
    }
}
