// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Findings from function names on the stacks")
struct FindingTests {
    private static let futex = "202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f00"
    private static let running = "running"
    private static let epoll = "281 0x1 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00"

    private static func thread(
        _ id: Int, _ symbols: [String], syscall: String = futex, state: String = "S", image: Int = 0,
        trust: Frame.Trust = .cfi
    ) -> CapturedThread {
        CapturedThread(
            id: id, name: "t\(id)", state: state, syscall: syscall,
            frames: symbols.map { symbol in
                let name = symbol.hasSuffix("@libc") ? String(symbol.dropLast("@libc".count)) : symbol
                return Frame(
                    address: 1, imageIndex: name == symbol ? image : 3, imageOffset: 1,
                    symbol: name.isEmpty ? nil : name,
                    symbolLocation: name.isEmpty ? nil : 0, trust: trust)
            })
    }

    private static func findings(
        _ threads: [CapturedThread], _ evidence: HangEvidence = HangEvidence(processorCount: 2), isAlone: Bool = false
    ) -> [Finding] {
        let images = ["app", "libsqlite3.so.0.8.6", "libgomp.so.1.0.0", "libc.so.6"].map {
            BinaryImage(base: 0, size: 4096, buildID: nil, path: "/lib/\($0)", name: $0, architecture: "x86_64")
        }
        // Beside it, an idle worker.
        let idle = [thread(99, ["pthread_cond_wait", "idle"])]
        let capture = CapturedProcess(method: .ptrace, threads: threads + (isAlone ? [] : idle), images: images)
        return Finding.all(in: capture, main: 1, evidence: evidence)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let kind: Finding.Kind
        let stack: [String]
        var syscall = futex
        var testDescription: String { kind.rawValue }
    }

    static let cases: [Case] = [
        Case(
            kind: .nameLookup, stack: ["poll", "send_dg", "__libc_res_nsearch", "getaddrinfo", "main"],
            syscall: "7 0x1 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00"),
        Case(
            kind: .dispatchSemaphore,
            stack: ["futex_wait", "_dispatch_sema4_wait", "_dispatch_semaphore_wait_slow", "DispatchSemaphore.wait()"]),
        Case(kind: .dispatchGroup, stack: ["futex", "_dispatch_group_wait_slow", "main"]),
        Case(
            kind: .dispatchSync,
            stack: [
                "futex", "_dispatch_thread_event_wait_slow", "__DISPATCH_WAIT_FOR_QUEUE__", "_dispatch_sync_f_slow",
            ]),
        Case(
            kind: .conditionVariable,
            stack: ["syscall", "std::sys::sync::thread_parking::futex::Parker::park", "std::thread::functions::park"]),
        Case(
            kind: .conditionVariable,
            stack: ["syscall", "std::thread::thread::Thread::park", "std::thread::scoped::scope", "zoo::main"]),
        Case(
            kind: .oneTimeInitialiser,
            stack: ["syscall", "std::sys::sync::once::futex::Once::call", "std::sync::once::Once::call_once_force"]),
        Case(
            kind: .rustLock,
            stack: ["syscall", "std::sys::sync::mutex::futex::Mutex::lock_contended", "zoo::save_order", "zoo::main"]),
        Case(
            kind: .rustLock,
            stack: ["syscall", "std::sys::sync::rwlock::futex::RwLock::read_contended", "zoo::save_order"]),
        Case(
            kind: .channel,
            stack: [
                "syscall", "std::thread::thread::Thread::park", "std::sync::mpmc::list::Channel<T>::recv::{{closure}}",
                "std::sync::mpmc::list::Channel<T>::recv", "zoo::take_job",
            ]),
        Case(
            kind: .future,
            stack: [
                "syscall", "std::__atomic_futex_unsigned_base::_M_futex_wait_until(unsigned int*, unsigned int, bool)",
                "take_price()", "main",
            ]),
        Case(kind: .barrier, stack: ["syscall", "std::latch::wait() const", "load_catalog", "main"]),
        Case(
            kind: .barrier,
            stack: [
                "syscall", "std::__detail::__platform_wait<int>", "std::barrier<std::__empty_completion>::wait", "main",
            ]),
        Case(
            kind: .posixSemaphore,
            stack: [
                "syscall", "std::__atomic_semaphore::_M_acquire()", "std::counting_semaphore<1l>::acquire()", "main",
            ]),
        // Their own frame ended in a tail call.
        Case(
            kind: .barrier,
            stack: [
                "syscall", "void std::__detail::__platform_wait<int>(int const*, int)",
                "void std::__atomic_wait_address<std::__barrier_phase_t, std::__tree_barrier<std::__empty_completion>::wait("
                    + "std::__barrier_phase_t&&) const::{lambda()#1}>(std::__barrier_phase_t const*)",
                "load_catalog(char const*)", "main",
            ]),
        Case(
            kind: .posixSemaphore,
            stack: [
                "syscall",
                "void std::__atomic_wait_address_bare<std::__atomic_semaphore::_M_acquire()::{lambda()#1}>(int const*)",
                "load_catalog(char const*)", "main",
            ]),
        Case(
            kind: .barrier,
            stack: [
                "syscall",
                "void std::__atomic_wait_address_v<long, std::latch::wait() const::{lambda()#1}>(long const*)",
                "load_catalog(char const*)", "main",
            ]),
        Case(
            kind: .conditionVariable,
            stack: [
                "syscall", "void std::__atomic_wait_address_v<int, std::__atomic_base<int>::wait(int)>(int const*)",
                "main",
            ]),
        Case(kind: .conditionVariable, stack: ["syscall", "std::atomic<int>::wait(int, std::memory_order)", "main"]),
        Case(
            kind: .conditionVariable, stack: ["syscall", "std::__1::__libcpp_atomic_wait(void const volatile*, long)"]),
        Case(kind: .oneTimeInitialiser, stack: ["syscall", "_dispatch_once_wait", "swift_once"]),
        Case(
            kind: .conditionVariable,
            stack: ["__futex_abstimed_wait_common", "__pthread_cond_wait_common", "pthread_cond_wait@@GLIBC_2.3.2"]),
        Case(kind: .readWriteLock, stack: ["__futex_abstimed_wait_common", "pthread_rwlock_wrlock"]),
        Case(
            kind: .posixSemaphore,
            stack: ["__futex_abstimed_wait_common", "__new_sem_wait_slow64.constprop.0", "sem_wait"]),
        Case(
            kind: .conditionVariable,
            stack: ["syscall", "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout", "park::main"]),
        Case(kind: .regularExpression, stack: ["", "Perl_regexec_flags", "Perl_pp_match", "main"], syscall: running),
        Case(kind: .regularExpression, stack: ["match_at", "onig_search", "rb_reg_search"], syscall: running),
        Case(
            kind: .regularExpression, stack: ["std::__detail::_Executor<char const*>::_M_dfs(int)", "main"],
            syscall: running),
        Case(
            kind: .future,
            stack: ["syscall", "std::__atomic_futex_unsigned_base::_M_futex_wait_until_steady(unsigned int*)", "main"]),
        Case(
            kind: .posixSemaphore,
            stack: ["syscall", "std::__detail::__platform_wait_until_impl<long>(int const*, int)", "take_seat()"]),
        Case(
            kind: .conditionVariable,
            stack: ["futex_wait", "futex_wait_simple", "pthread_cond_destroy", "close_queue", "main"]),
        Case(
            kind: .barrier,
            stack: [
                "syscall", "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout",
                "std::sync::barrier::Barrier::wait", "zoo::meet",
            ]),
        Case(kind: .libraryLock, stack: ["futex_wait", "__lll_lock_wait_private", "__tz_convert", "stamp"]),
        Case(kind: .barrier, stack: ["futex_wait", "pthread_barrier_wait"]),
        Case(kind: .allocatorLock, stack: ["__lll_lock_wait_private", "malloc", "handler"]),
        Case(
            kind: .pythonLock,
            stack: ["__futex_abstimed_wait_common", "__new_sem_wait_slow64", "PyThread_acquire_lock_timed"]),
        Case(
            kind: .loader, stack: ["pthread_mutex_lock", "dl_open_worker", "_dl_open"],
            syscall: "202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f00"),
        Case(kind: .regularExpression, stack: ["check_matching", "re_search_internal", "regexec"], syscall: running),
        Case(
            kind: .childProcess,
            stack: [
                "epoll_pwait", "uv__io_poll", "uv_run",
                "node::SyncProcessRunner::TryInitializeAndRunLoop(v8::Local<v8::Value>)",
            ], syscall: epoll),
        Case(
            kind: .conditionVariable,
            stack: [
                "__futex_abstimed_wait_common", "pthread_cond_wait", "v8::internal::FutexEmulation::WaitSync<int>(int)",
            ]),
        Case(kind: .databaseLock, stack: ["epoll_wait", "WaitEventSetWait", "WaitLatch", "ProcSleep"], syscall: epoll),
        Case(
            kind: .databaseAnswer, stack: ["poll", "", "pqWaitTimed", "PQgetResult", "PQexec", "main"],
            syscall: "7 0x1 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00"),
        Case(
            kind: .idleEventLoop, stack: ["sigsuspend", "_dispatch_sigsuspend", "_dispatch_sig_thread"],
            syscall: "130 0x1 0x8 0x0 0x0 0x0 0x0 0x7ffe 0x7f00"),
        Case(kind: .idleEventLoop, stack: ["epoll_pwait", "uv__io_poll", "uv_run", "main"], syscall: epoll),
        Case(
            kind: .garbageCollection,
            stack: ["mark", "v8::internal::Heap::CollectGarbage(v8::internal::AllocationSpace)", "main"],
            syscall: running),
        Case(kind: .garbageCollection, stack: ["scan", "runtime.gcAssistAlloc", "runtime.mallocgc"], syscall: running),
        Case(kind: .embeddedScript, stack: ["", "", "lua_pcall", "luaCallFunction", "call"], syscall: running),
        Case(
            kind: .mainActorWork,
            stack: ["work()", "closure #1 in load()", "swift_job_run", "_dispatch_main_queue_drain"], syscall: running),
    ]

    @Test("each wait is recognized by its functions, and nothing else is", arguments: cases)
    func rule(example: Case) {
        let found = Self.findings([Self.thread(1, example.stack, syscall: example.syscall)])
        #expect(found.map(\.kind) == [example.kind])
        #expect(found.allSatisfy { $0.source.hasPrefix("frame ") && !$0.text.hasSuffix(".") })
    }

    @Test("a wait that only another thread could end is hopeless in a process with one")
    func alone() {
        let stack = ["futex_wait", "sem_wait", "take", "main"]
        func kinds(_ syscall: String, isAlone: Bool = true) -> [Finding.Kind] {
            Self.findings([Self.thread(1, stack, syscall: syscall)], isAlone: isAlone).map(\.kind)
        }
        #expect(kinds(Self.futex) == [.posixSemaphore, .noOtherThread])
        #expect(kinds(Self.futex, isAlone: false) == [.posixSemaphore])
        #expect(kinds("202 0x1 0x0 0x2 0x0 0x0 0x0 0x7ffe 0x7f00") == [.posixSemaphore], "processes may share it")
        #expect(kinds("202 0x1 0x80 0x2 0x7ff0 0x0 0x0 0x7ffe 0x7f00") == [.posixSemaphore], "it has a limit")
    }

    @Test("a lock of the C library names the function that takes it, and a handler that has interrupted its owner")
    func libraryLock() throws {
        func text(_ symbols: [String]) throws -> String {
            var thread = Self.thread(1, symbols)
            for index in thread.frames.indices where thread.frames[index].symbol?.hasPrefix("__") == true {
                thread.frames[index].imageIndex = 3
            }
            return try #require(Self.findings([thread]).first).text
        }
        let wait = ["__futex_wait", "__lll_lock_wait_private", "__tz_convert", "on_alarm"]
        #expect(try text(wait + ["main"]) == "The thread waits for a lock of the C library, in __tz_convert")
        #expect(
            try text(wait + ["__restore_rt", "__getenv", "__tz_convert", "stamp", "main"])
                == "The thread waits for a lock of the C library, in __tz_convert that it holds itself: a signal handler has "
                + "interrupted its owner")
        #expect(
            try text(wait + ["__restore_rt", "work", "__tz_convert", "main"])
                == "The thread waits for a lock of the C library, in __tz_convert", "another function was interrupted")
    }

    @Test("a thread of OpenMP that waits for the others is recognized by the library, and its own work is not")
    func parallelRegion() {
        var waiting = Self.thread(1, ["", "", "compute", "main"])
        for index in 0..<2 { waiting.frames[index].imageIndex = 2 }
        #expect(Self.findings([waiting]).map(\.kind) == [.barrier])
        var working = Self.thread(1, ["futex_wait", "lock", "work", "compute", "", "main"])
        working.frames[4].imageIndex = 2
        #expect(Self.findings([working]).isEmpty)
    }

    /// The finding about another thread, beside a main thread that waits for a condition.
    private static func other(
        _ threads: [CapturedThread], _ besides: [WaitDetails], of main: [String]? = nil
    ) -> Finding? {
        var evidence = HangEvidence(processorCount: 2)
        evidence.besides = besides
        let main = thread(1, main ?? ["pthread_cond_wait", "take_connection", "main"])
        return findings([main] + threads, evidence).first { $0.kind == .otherThread }
    }

    private static let receiving = "45 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00"

    private static func beside(
        _ thread: Int, _ syscall: String, _ subject: String, _ holder: WaitDetails.Holder? = nil
    ) -> WaitDetails {
        WaitDetails(
            process: 1, thread: thread, name: "t\(thread)", syscall: syscall, subject: subject, holder: holder,
            sources: [])
    }

    @Test("of the threads that could end a wait without an owner, the only one that waits for others is named")
    func onlyOther() throws {
        let reader = Self.thread(2, ["recv@libc", "fetch_quote"], syscall: Self.receiving)
        let connection = Self.beside(2, Self.receiving, "fd 3: TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED")
        let found = try #require(Self.other([reader], [connection]))
        #expect(
            found.text
                == "Thread 2 \"t2\" sleeps in recvfrom (fd 3: TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED), from fetch_quote, "
                + "while the main thread waits for a condition")
        #expect(!found.isAsleep)
        #expect(Self.other([reader], [connection], of: ["futex_wait", "take", "main"])?.thread == 2, "of any kind")
        // A second one elsewhere may be the cause as well; one in the same place is like it.
        let twin = Self.thread(3, ["recv@libc", "fetch_quote"], syscall: Self.receiving)
        let second = Self.beside(3, Self.receiving, "fd 4: TCP 127.0.0.1:6 → 127.0.0.1:80, ESTABLISHED")
        #expect(Self.other([reader, twin], [connection, second])?.text.contains("; 1 more like it") == true)
        let stranger = Self.thread(3, ["recv@libc", "serve"], syscall: Self.receiving)
        #expect(Self.other([reader, stranger], [connection, second]) == nil)
        let inside = Self.beside(2, Self.receiving, "fd 3: Unix socket, other end in this process, nothing to read")
        #expect(Self.other([reader], [inside]) == nil, "a thread of its own has to write first")
        let sleep = "230 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f00"
        #expect(Self.other([Self.thread(2, ["nanosleep", "tick"], syscall: sleep)], []) == nil)
    }

    @Test("the thread for whose lock others wait is named, whatever it waits for")
    func holderOfOthers() throws {
        let sleep = "230 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f00"
        let holder = Self.thread(2, ["nanosleep", "back_off"], syscall: sleep)
        let worker = Self.thread(3, ["__lll_lock_wait", "pthread_mutex_lock", "update_cache"])
        let reader = Self.thread(4, ["recv@libc", "serve"], syscall: Self.receiving)
        let connection = Self.beside(4, Self.receiving, "fd 3: TCP 127.0.0.1:5 → 127.0.0.1:80, ESTABLISHED")
        let lock = Self.beside(
            3, Self.futex, "mutex", WaitDetails.Holder(relation: .holds, process: 1, thread: 2, name: "t2"))
        #expect(Self.other([holder, worker, reader], [lock, connection])?.thread == 2)
        #expect(Self.other([holder, worker, reader], [connection])?.thread == 4)
    }

    @Test("a thread that waits for a condition while it holds the main thread's lock is named")
    func conditionWithLock() throws {
        let holder = WaitDetails.Holder(relation: .holds, process: 1, thread: 2, name: "t2")
        var evidence = HangEvidence(processorCount: 2)
        evidence.waits = [
            Self.beside(1, Self.futex, "mutex", holder), Self.beside(2, Self.futex, "word at 0x1"),
        ]
        let main = Self.thread(1, ["__lll_lock_wait", "pthread_mutex_lock", "show"])
        let found = Self.findings([main, Self.thread(2, ["pthread_cond_wait@libc", "take_job"])], evidence)
        #expect(
            found.first { $0.kind == .otherThread }?.text
                == "Thread 2 \"t2\" waits for a condition, from take_job, while the main thread waits for its lock")
    }

    @Test("a thread that waits for a lock of the main thread, which waits for a condition, is a deadlock")
    func conditionAndLock() throws {
        let main = Self.thread(1, ["pthread_cond_wait@libc", "wait_for_item", "main"])
        let producer = Self.thread(2, ["__lll_lock_wait", "pthread_mutex_lock", "publish"])
        let held = WaitDetails.Holder(relation: .holds, process: 1, thread: 1, name: "t1")
        var evidence = HangEvidence(processorCount: 2)
        evidence.waits = [Self.beside(1, Self.futex, "word at 0x1")]
        evidence.besides = [Self.beside(2, Self.futex, "mutex", held)]
        let words =
            "thread 2 \"t2\" waits for a lock that the main thread holds, from publish, while the main thread waits "
        func text(isAlone: Bool) -> String? {
            Self.findings([main, producer], evidence, isAlone: isAlone).first { $0.kind == .otherThread }?.text
        }
        #expect(text(isAlone: true) == "Deadlock: \(words)for a condition")
        #expect(text(isAlone: false) == "Probably a deadlock: \(words)for a condition")
        evidence.besides = []
        #expect(text(isAlone: true) == nil)
    }

    @Test("a reader that waits behind a writer names it")
    func writer() {
        let writer = Self.thread(2, ["__futex_wait", "pthread_rwlock_wrlock", "reload"])
        let reader = Self.thread(1, ["__futex_wait", "pthread_rwlock_rdlock", "get_option"])
        #expect(
            Self.findings([reader, writer]).first?.text.hasPrefix(
                "The thread waits for a read-write lock for which thread 2 \"t2\" waits to write; ") == true)
        #expect(Self.findings([reader]).first?.text.contains("waits to write") == false)
    }

    @Test("a constructor does what it does, when the program starts as when a library is loaded")
    func constructor() {
        let call = "230 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f00"
        let library = ["nanosleep", "initializer", "call_init", "_dl_init", "_dl_start_user"]
        #expect(Self.findings([Self.thread(1, library, syscall: call)]).isEmpty)
        let plugin = ["nanosleep", "initializer", "call_init", "_dl_init", "dl_open_worker", "_dl_open"]
        #expect(Self.findings([Self.thread(1, plugin, syscall: call)]).isEmpty)
        let own = ["nanosleep", "initializer", "call_init", "__libc_start_main", "_start"]
        #expect(Self.findings([Self.thread(1, own, syscall: call)]).isEmpty)
    }

    /// A thread of a stripped Ruby, which polls an eventfd.
    private static func ruby(_ symbols: [String], isAlone: Bool, subject: String = "fd 4: eventfd") -> [Finding] {
        let ppoll = "271 0x1 0x1 0x0 0x0 0x8 0x0 0x7ffe 0x7f00"
        let images = ["libc.so.6", "libruby-3.1.so.3.1.2"].map {
            BinaryImage(base: 0, size: 4096, buildID: nil, path: "/lib/\($0)", name: $0, architecture: "x86_64")
        }
        var main = thread(1, ["ppoll"] + symbols, syscall: ppoll)
        for index in main.frames.indices.dropFirst() { main.frames[index].imageIndex = 1 }
        let threads = isAlone ? [main] : [main, thread(2, [], syscall: ppoll)]
        var evidence = HangEvidence(processorCount: 2)
        evidence.waits = [
            WaitDetails(process: 1, thread: 1, name: "ruby", syscall: ppoll, subject: subject, sources: [])
        ]
        let capture = CapturedProcess(method: .ptrace, threads: threads, images: images)
        return Finding.all(in: capture, main: 1, evidence: evidence)
    }

    @Test("a Ruby thread waits for a child if it is the only one, and for another thread if it is not")
    func ruby() {
        let queue = ["", "", "", "", "rb_ensure", "", "rb_vm_exec"]
        #expect(Self.ruby(queue, isAlone: true).map(\.kind) == [.childProcess])
        #expect(Self.ruby(queue, isAlone: false).map(\.kind) == [.conditionVariable])
        #expect(Self.ruby(["", "rb_ensure", "", "rb_waitpid"], isAlone: false).map(\.kind) == [.childProcess])
        #expect(Self.ruby(["", "", "rb_thread_sleep_forever", "rb_vm_exec"], isAlone: true).isEmpty)
        #expect(Self.ruby(queue, isAlone: true, subject: "fd 4: pipe").isEmpty)
    }

    @Test("a future that joins its thread within a one-time initializer waits for the thread")
    func asynchronousFuture() {
        let stack = ["futex", "__pthread_clockjoin_ex", "std::thread::join()", "__pthread_once_slow", "main"]
        var evidence = HangEvidence(processorCount: 2)
        func wait(_ holder: WaitDetails.Holder?) -> WaitDetails {
            WaitDetails(
                process: 1, thread: 1, name: "app", syscall: Self.futex, subject: "the end", holder: holder, sources: []
            )
        }
        evidence.waits = [wait(nil)]
        #expect(Self.findings([Self.thread(1, stack)], evidence).map(\.kind) == [.oneTimeInitialiser])
        evidence.waits = [wait(WaitDetails.Holder(relation: .ends, process: 1, thread: 2, name: "app"))]
        #expect(Self.findings([Self.thread(1, stack)], evidence).isEmpty)
    }

    @Test("the same functions yield no finding if the thread is not blocked in them")
    func notBlocked() {
        let stack = ["pthread_cond_wait", "main"]
        #expect(Self.findings([Self.thread(1, stack, syscall: Self.running, state: "R")]).isEmpty)
    }

    @Test("frames from stack scanning yield no finding")
    func scanned() {
        #expect(Self.findings([Self.thread(1, ["getaddrinfo", "main"], trust: .scan)]).isEmpty)
    }

    @Test("a longer name with the same beginning is a different function")
    func otherFunction() {
        #expect(Self.findings([Self.thread(1, ["pthread_cond_wait_for_my_own", "main"])]).isEmpty)
    }

    @Test("a sleeping SQLite is busy, even without symbols")
    func sqlite() {
        let sleep = "230 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f00"
        #expect(Self.findings([Self.thread(1, ["", ""], syscall: sleep, image: 1)]).map(\.kind) == [.sqliteBusy])
    }

    @Test("a single thread that runs a queue's block is named; several are counted")
    func dispatchSync() {
        let main = Self.thread(1, ["__DISPATCH_WAIT_FOR_QUEUE__", "_dispatch_sync_f_slow"])
        let worker = Self.thread(2, ["read", "work", "_dispatch_client_callout", "_dispatch_lane_serial_drain"])
        let one = Self.findings([main, worker])
        #expect(one.first?.thread == 2)
        #expect(one.first?.text.contains("thread 2 \"t2\" runs a block of a queue") == true)
        var other = worker
        other.id = 3
        let two = Self.findings([main, worker, other])
        #expect(two.first?.thread == nil)
        #expect(two.first?.text.contains("one of 2 threads") == true)
    }

    @Test("threads in queues that wait for each other are a deadlock; with a busy thread they are not")
    func dispatchDeadlock() {
        let inside = [
            "futex", "__DISPATCH_WAIT_FOR_QUEUE__", "block", "_dispatch_lane_barrier_sync_invoke_and_complete",
        ]
        let (main, other) = (Self.thread(1, inside), Self.thread(2, inside))
        let worker = Self.thread(3, ["read", "work", "_dispatch_client_callout", "_dispatch_lane_serial_drain"])
        let found = Self.findings([main, other])
        #expect(found.map(\.kind) == [.dispatchDeadlock])
        #expect(found.first?.thread == 2)
        #expect(Self.findings([main, other, worker]).map(\.kind) == [.dispatchSync])
        #expect(Self.findings([Self.thread(1, Array(inside.prefix(2))), other]).map(\.kind) == [.dispatchSync])
    }

    @Test("a loop that runs a handler is not idle")
    func notIdle() {
        let stack = ["epoll_wait", "a", "b", "handler", "aeMain", "main"]
        #expect(Self.findings([Self.thread(1, stack, syscall: Self.epoll)]).isEmpty)
    }

    @Test("the holder of Python's interpreter lock is named if only one thread can be")
    func interpreterLock() {
        let main = Self.thread(1, ["pthread_cond_timedwait", "", "PyEval_RestoreThread", "_PyEval_EvalFrameDefault"])
        let waiting = Self.thread(2, ["pthread_cond_timedwait", "take_gil", "_PyEval_EvalFrameDefault"])
        let computing = Self.thread(
            3, ["crunch", "ffi_call", "_PyEval_EvalFrameDefault"], syscall: "running", state: "R")
        let found = Self.findings([main, waiting, computing])
        #expect(found.map(\.kind) == [.pythonGIL])
        #expect(found.first?.thread == 3)
    }

    @Test("the interpreter's own record of its lock's holder counts, with the script's function")
    func lockHolder() {
        func python(_ name: String, _ file: String) -> Frame {
            Frame(
                address: 0x3000, imageIndex: 0, imageOffset: 0, symbol: name, symbolLocation: 0, sourceFile: file,
                sourceLine: 12, language: .python, trust: .interpreter)
        }
        var main = Self.thread(1, ["___pthread_cond_timedwait64", ""])
        main.frames.append(python("main", "/srv/app.py"))
        var holder = Self.thread(2, ["match"], syscall: "running", state: "R")
        holder.frames += [python("match", "/usr/lib/python3.11/re/__init__.py"), python("find", "/srv/app.py")]
        let other = Self.thread(3, ["crunch", "_PyEval_EvalFrameDefault"], syscall: "running", state: "R")
        let capture = CapturedProcess(
            method: .ptrace, threads: [main, holder, other], images: [], interpreterLockHolder: 2)
        let found = Finding.all(in: capture, main: 1, evidence: HangEvidence(processorCount: 2))
        #expect(found.map(\.kind) == [.pythonGIL])
        #expect(found.first?.thread == 2)
        #expect(found.first?.text.hasSuffix("holds it, in find (app.py:12)") == true, "\(found)")
    }

    @Test("a stripped interpreter's lock is recognized by its timed wait; a lock of Python's threads is different")
    func strippedInterpreter() {
        let wait = ["__futex_abstimed_wait_common", "___pthread_cond_timedwait64", "", "", "_PyEval_EvalFrameDefault"]
        let main = Self.thread(1, wait)
        #expect(Self.findings([main]).map(\.kind) == [.pythonGIL])
        let called = Self.thread(
            1, ["___pthread_cond_timedwait64", "", "PyObject_Vectorcall", "_PyEval_EvalFrameDefault"])
        #expect(Self.findings([called]).map(\.kind) == [.conditionVariable])
        let convoy = Self.findings([main, Self.thread(2, wait), Self.thread(3, wait)])
        #expect(convoy.first?.text.hasSuffix("2 other threads wait for it too, and each has to take its turn") == true)
    }

    @Test("a cooperative pool is reported as full once as many threads run tasks as there are CPUs")
    func cooperativePool() {
        let main = Self.thread(1, ["epoll_wait", "main"])
        let worker = Self.thread(2, ["futex_wait", "task", "swift_job_run", "_dispatch_root_queue_drain"])
        var other = worker
        other.id = 3
        #expect(Self.findings([main, worker]).isEmpty)
        let found = Self.findings([main, worker, other])
        #expect(found.map(\.kind) == [.cooperativePoolFull])
        #expect(found.first?.text.contains("2 threads for 2 CPUs run tasks, 2 of them blocked") == true)
    }

    @Test("a runnable holder of lower priority is a priority inversion; one of equal priority is not")
    func priorityInversion() {
        var wait = WaitDetails(
            process: 1, thread: 1, name: "m", syscall: Self.futex, subject: "mutex",
            holder: .init(relation: .holds, process: 1, thread: 2, name: "low", state: "R", priority: 39),
            sources: [])
        wait.priority = 20
        var evidence = HangEvidence(processorCount: 2, waits: [wait])
        #expect(Self.findings([], evidence).map(\.kind) == [.priorityInversion])
        evidence.waits[0].holder?.priority = 20
        #expect(Self.findings([], evidence).isEmpty)
        evidence.waits[0].holder?.priority = 39
        evidence.waits[0].holder?.state = "S"
        #expect(Self.findings([], evidence).isEmpty)
    }

    @Test(
        "a semaphore whose only possible signaler gets no CPU is an inversion",
        arguments: [
            (200, 800, true), (201, 799, false), (0, 800, true), (0, 799, false),
        ])
    func starvedSignaller(ran: Int, waited: Int, isInversion: Bool) {
        let main = Self.thread(1, ["_dispatch_semaphore_wait_slow", "open"])
        let decoder = Self.thread(2, ["decode"], syscall: Self.running, state: "R")
        var samples = ProcessSamples(
            process: 1, name: "app", path: "/app", time: Samples.captureTime, interval: .milliseconds(100),
            duration: .seconds(1), sampleCount: 11, stacks: [.init(state: "S", syscall: nil, frames: [])], images: [])
        samples.threads = [
            .init(
                id: 2, name: "decoder", runTime: .milliseconds(ran), runDelay: .milliseconds(waited),
                runs: [.init(first: 0, count: 11, stack: 0)])
        ]
        func findings(_ threads: [CapturedThread]) -> [Finding] {
            Finding.all(
                in: CapturedProcess(method: .ptrace, threads: threads, images: []), main: 1,
                evidence: HangEvidence(processorCount: 2), samples: samples)
        }
        let found = findings([main, decoder, Self.thread(3, ["pthread_cond_wait"])])
        #expect(
            found.map(\.kind)
                == (isInversion ? [.priorityInversion, .dispatchSemaphore] : [.dispatchSemaphore, .otherThread]))
        #expect(found.compactMap(\.thread) == [2])
        if isInversion {
            #expect(
                found.first?.text.hasSuffix(
                    "thread 2 \"t2\", the only one that does not sleep and could end that, had a CPU for 0.\(ran == 0 ? "00" : "20") s of 1.00 s"
                )
                    == true)
        }
        // Another running thread could signal it as well.
        #expect(
            findings([main, decoder, Self.thread(3, ["work"], syscall: Self.running, state: "R")]).map(\.kind)
                == [.dispatchSemaphore, .otherThread])
    }
}
