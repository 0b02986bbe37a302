// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A pattern on the main thread's stack, and its meaning.
struct FindingRule {
    let kind: Finding.Kind
    let text: String
    /// At least one of these must be on the stack.
    let functions: [String]
    /// The number of frames to search, from the innermost one.
    var depth = Int.max
    /// The system call must be one of these, unless the set is empty.
    var calls: Set<String> = []
    /// The image of the frame, if the image's name alone is enough; `functions` is then empty.
    var image: String?
    /// None of these may be on the stack.
    var unless: [String] = []
    /// An additional condition on the stack; `functions` then only provides the source.
    var condition: (@Sendable (NamedStack) -> Bool)?

    func finding(in stack: NamedStack, _ evidence: HangEvidence) -> Finding? {
        if !calls.isEmpty {
            guard let call = stack.syscall, calls.contains(call) else { return nil }
        }
        guard condition.map({ $0(stack) }) ?? true else { return nil }
        guard unless.isEmpty || !stack.contains(unless) else { return nil }
        if let image {
            guard let index = stack.images.firstIndex(where: { $0.hasPrefix(image) }) else { return nil }
            return Finding(
                kind: kind, text: text, source: "frame \(index) in \(stack.images[index].singleLine(limit: 64))")
        }
        guard let index = stack.first(functions, within: depth) else { return nil }
        return Finding(kind: kind, text: text, source: "frame \(index): \(stack.names[index].singleLine(limit: 128))")
    }

    /// Functions that look up a host.
    static let lookups = [
        "getaddrinfo", "gethostbyname", "gethostbyname_r", "gethostbyname2_r", "getnameinfo", "gethostbyaddr_r",
        "__res_context_query", "__res_context_search", "res_nquery", "__libc_res_nsearch",
    ]

    /// The functions of Rust's futex-based locks, since Rust 1.62.
    private static let rustLocks =
        [
            "sys::sync::mutex::futex::Mutex", "sys::pal::unix::locks::futex_mutex::Mutex",
            "sys::unix::locks::futex_mutex::Mutex",
        ].map { "std::\($0)::lock_contended" }
        + [
            "sys::sync::rwlock::futex::RwLock", "sys::pal::unix::locks::futex_rwlock::RwLock",
            "sys::unix::locks::futex_rwlock::RwLock",
        ].flatMap { ["std::\($0)::read_contended", "std::\($0)::write_contended"] }
    // With optimization, a wait of C++20 may end in a tail call: then only the template arguments of the wait for an
    // atomic still say whose it is.
    private static let latches = [
        "std::latch", "std::__1::latch", "std::__atomic_wait_address_v<long, std::latch",
    ]
    private static let barriers = [
        "std::barrier", "std::__tree_barrier", "std::__1::barrier", "std::__1::__barrier_base",
        "std::__atomic_wait_address<std::__barrier_phase_t",
    ]
    private static let semaphores = [
        "std::counting_semaphore", "std::__atomic_semaphore", "std::__1::counting_semaphore",
        "std::__1::__atomic_semaphore_base", "std::__atomic_wait_address_bare<std::__atomic_semaphore",
        // Only semaphores of C++20 wait for a limited time.
        "std::__detail::__platform_wait_until", "std::__detail::__platform_wait_until_impl",
    ]
    static let allocating = [
        "malloc", "free", "calloc", "realloc", "_int_free", "_int_malloc", "__libc_malloc", "tcache_init",
    ]
    /// Without optimization, a wait of C++20 is nine calls deep.
    private static let cppDepth = 12
    private static let waiting: Set<String> = ["futex", "futex_wait", "futex_waitv"]
    private static let polling = EventLoop.polling

    /// In the order in which causes are reported: a library's own wait before the primitive it is built on.
    static let all: [FindingRule] = [
        FindingRule(
            kind: .nameLookup, text: "A host name is being looked up (getaddrinfo)", functions: lookups),
        GarbageCollection.rule,
        FindingRule(
            kind: .sqliteBusy, text: "SQLite waits for another connection's lock on the database (busy)", functions: [],
            calls: ["clock_nanosleep", "nanosleep"], image: "libsqlite3"),
        FindingRule(
            kind: .sqliteBusy, text: "SQLite waits for another connection's lock on the database (busy)",
            functions: ["sqliteDefaultBusyCallback", "sqlite3InvokeBusyHandler", "sqlite3_sleep"],
            calls: ["clock_nanosleep", "nanosleep"]),
        FindingRule(
            kind: .sqliteWrite, text: "SQLite writes its database to disk", functions: [],
            calls: ["fsync", "fdatasync", "pwrite64", "write"], image: "libsqlite3"),
        FindingRule(
            kind: .pythonGIL, text: "The thread waits for Python's global interpreter lock",
            functions: NamedStack.interpreterLock + ["_PyEval_EvalFrameDefault"], depth: 12,
            condition: \.isWaitingForInterpreter),
        FindingRule(
            kind: .pythonLock, text: "The thread waits for a Python lock", functions: PythonLock.functions, depth: 12,
            calls: waiting),
        FindingRule(
            kind: .dispatchSync, text: "DispatchQueue.sync waits for its turn on a queue that is busy",
            functions: ["__DISPATCH_WAIT_FOR_QUEUE__", "_dispatch_sync_f_slow", "_dispatch_thread_event_wait_slow"],
            calls: waiting),
        FindingRule(
            kind: .dispatchSemaphore,
            text: "The thread waits for a DispatchSemaphore; nothing records who will signal it",
            functions: ["_dispatch_semaphore_wait_slow", "dispatch_semaphore_wait", "_dispatch_sema4_wait"],
            calls: waiting, unless: ["_dispatch_group_wait_slow", "dispatch_group_wait"]),
        FindingRule(
            kind: .dispatchGroup, text: "The thread waits for a DispatchGroup; nothing records who will leave it",
            functions: ["_dispatch_group_wait_slow", "dispatch_group_wait"], calls: waiting),
        FindingRule(
            kind: .oneTimeInitialiser, text: "The thread waits for a one-time initializer that another thread runs",
            functions: [
                "_dispatch_once_wait", "swift_once", "__pthread_once_slow", "pthread_once", "__cxa_guard_acquire",
                "std::sys::sync::once::futex::Once::call", "std::sys_common::once::futex::Once::call",
            ],
            depth: 10, calls: waiting),
        FindingRule(
            kind: .barrier, text: "The thread waits at a barrier that not all of its threads have reached",
            functions: ["pthread_barrier_wait", "___pthread_barrier_wait", "__pthread_barrier_wait"], depth: 6,
            calls: waiting),
        FindingRule(
            kind: .conditionVariable, text: "JavaScript's Atomics.wait: another thread must call Atomics.notify",
            functions: ["v8::internal::FutexEmulation::WaitSync"], depth: 8, calls: waiting),
        FindingRule(
            kind: .rustLock, text: "The thread waits for a lock of Rust; nothing records who holds it",
            functions: rustLocks, depth: 6, calls: waiting),
        FindingRule(
            kind: .channel, text: "The thread waits for the other end of a channel; nothing records who has it",
            functions: ["list", "array", "zero"].map { "std::sync::mpmc::\($0)::Channel" },
            depth: 8, calls: waiting),
        FindingRule(
            kind: .future, text: "The thread waits for a future; nothing records who will fulfill its promise",
            functions: ["_M_futex_wait_until", "_M_futex_wait_until_steady"].map {
                "std::__atomic_futex_unsigned_base::\($0)"
            },
            depth: 4, calls: waiting),
        FindingRule(
            kind: .barrier, text: "The thread waits for a latch that has not been counted down to zero",
            functions: latches, depth: cppDepth, calls: waiting),
        FindingRule(
            kind: .barrier, text: "The thread waits at a barrier that not all of its threads have reached",
            functions: barriers, depth: cppDepth, calls: waiting),
        FindingRule(
            kind: .posixSemaphore, text: "The thread waits for a semaphore; nothing records who will release it",
            functions: semaphores, depth: cppDepth, calls: waiting),
        FindingRule(
            kind: .conditionVariable,
            text: "The thread waits for a std::atomic to change; another must store a value and notify it",
            functions: [
                "std::atomic", "std::__atomic_base", "std::atomic_flag", "std::__atomic_wait_address",
                "std::__atomic_wait_address_v", "std::__atomic_wait_address_bare", "std::__detail::__platform_wait",
                "std::__detail::__waiter", "std::__detail::__waiter_pool", "std::__1::__libcpp_atomic_wait",
                "std::__1::__cxx_atomic_wait", "std::__1::__atomic_wait",
            ],
            depth: 3, calls: waiting,
            unless: latches + barriers + semaphores),
        FindingRule(
            kind: .barrier, text: "The thread waits at a barrier that not all of its threads have reached",
            functions: ["std::sync::barrier::Barrier::wait"], depth: cppDepth, calls: waiting),
        FindingRule(
            kind: .barrier, text: "The thread waits for the other threads of a parallel region of OpenMP",
            functions: [], calls: waiting, image: "libgomp.",
            condition: { $0.images.prefix(3).contains { $0.hasPrefix("libgomp.") } }),
        FindingRule(
            kind: .conditionVariable, text: "The thread waits for the end of all threads of its scope",
            functions: ["std::thread::scoped::scope"], depth: 6, calls: waiting),
        FindingRule(
            kind: .conditionVariable, text: "The thread is parked; another must unpark it",
            functions: [
                "std::thread::park", "std::thread::functions::park", "std::thread::thread::Thread::park",
                "std::thread::Thread::park",
            ],
            depth: 6, calls: waiting, unless: ["std::sync::mpmc", "std::thread::scoped::scope"]),
        FindingRule(
            kind: .conditionVariable,
            text: "The thread waits for a condition variable; no thread holds it, and another must signal it",
            functions: [
                "std::sys::sync::condvar::futex::Condvar::wait",
                "std::sys::sync::condvar::futex::Condvar::wait_timeout",
                "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout",
                "std::sys::pal::unix::locks::futex_condvar::Condvar::wait",
                "std::sys::pal::unix::locks::futex_condvar::Condvar::wait_timeout",
                "std::sys::pal::unix::locks::futex_condvar::Condvar::wait_optional_timeout",
                "std::sys::unix::locks::futex_condvar::Condvar::wait",
                "std::sys::unix::locks::futex_condvar::Condvar::wait_timeout",
                "std::sys::unix::locks::futex_condvar::Condvar::wait_optional_timeout",
                "std::sync::poison::condvar::Condvar::wait", "std::sync::condvar::Condvar::wait",
                "pthread_cond_wait", "pthread_cond_timedwait", "___pthread_cond_wait", "___pthread_cond_timedwait64",
                "__pthread_cond_wait_common", "__pthread_cond_wait", "pthread_cond_clockwait",
                "___pthread_cond_clockwait64",
            ],
            depth: 8, calls: waiting, unless: ["std::sync::barrier::Barrier::wait"],
            condition: { !$0.isWaitingForInterpreter }),
        FindingRule(
            kind: .conditionVariable,
            text: "The thread destroys a condition variable, and waits until no other thread waits for it",
            functions: ["pthread_cond_destroy", "___pthread_cond_destroy", "__pthread_cond_destroy"], depth: 6,
            calls: waiting),
        FindingRule(
            kind: .readWriteLock, text: "The thread waits for a read-write lock; the lock does not name its readers",
            functions: [
                "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "___pthread_rwlock_rdlock",
                "___pthread_rwlock_wrlock",
                "__pthread_rwlock_rdlock_full64", "__pthread_rwlock_wrlock_full64", "__pthread_rwlock_rdlock",
                "__pthread_rwlock_wrlock",
            ],
            depth: 6, calls: waiting),
        FindingRule(
            kind: .posixSemaphore,
            text: "The thread waits for a lock that Python processes share; nothing records which of them has it",
            functions: [], image: "_multiprocessing.", condition: \.isForPythonProcesses),
        FindingRule(
            kind: .posixSemaphore, text: "The thread waits for a semaphore; nothing records who will post it",
            functions: [
                "sem_wait", "sem_timedwait", "sem_clockwait", "__new_sem_wait", "__new_sem_wait_slow64",
                "__new_sem_wait_slow64.constprop.0", "___new_sem_wait",
            ],
            depth: 6, calls: waiting,
            unless: ["_dispatch_semaphore_wait_slow", "_dispatch_sema4_wait"] + PythonLock.functions),
        FindingRule(
            kind: .allocatorLock,
            text:
                "The thread waits for the allocator's lock: a signal handler or a child of fork may have entered it twice",
            functions: allocating, depth: 4, calls: waiting),
        FindingRule(
            kind: .libraryLock, text: "The thread waits for a lock of the C library", functions: LibraryLock.functions,
            depth: 3, calls: waiting),
        FindingRule(
            kind: .loader, text: "The thread loads a library or waits for the loader's lock",
            // Not _dl_init and call_init, which run constructors when the program starts: what those do is their own
            // deed, and the launch's phases say where it happens.
            functions: ["_dl_open", "dlopen", "dl_open_worker", "_dl_fini", "dlclose"],
            unless: ["_dl_init", "call_init"]
        ),
        FindingRule(
            kind: .connecting, text: "A connection is being made",
            functions: ["connect", "__libc_connect", "__connect"],
            depth: 4, calls: ["connect"]),
        FindingRule(
            kind: .diskSync, text: "Written data is being forced to the disk",
            functions: ["fsync", "fdatasync", "msync", "syncfs", "sync", "sync_file_range"], depth: 3,
            calls: ["fsync", "fdatasync", "msync", "syncfs", "sync", "sync_file_range"]),
        FindingRule(
            kind: .childProcess, text: "The thread waits for a child process",
            functions: [
                "waitpid", "wait4", "__wait4", "wait", "waitid", "__waitid", "system", "do_system", "pclose", "vfork",
                "__vfork", "posix_spawn", "posix_spawnp", "__spawni", "__spawnix",
            ],
            depth: 6, calls: EventWait.children),
        FindingRule(
            kind: .childProcess, text: "The thread waits for a child process of execSync or spawnSync",
            functions: ["node::SyncProcessRunner::TryInitializeAndRunLoop"], depth: 6, calls: polling),
        FindingRule(
            kind: .databaseLock, text: "PostgreSQL waits for a lock that another of its sessions holds",
            functions: ["ProcSleep"], calls: polling),
        FindingRule(
            kind: .databaseAnswer, text: "The thread waits for a database server's answer",
            functions: [
                "PQexec", "PQexecParams", "PQexecPrepared", "PQgetResult", "pqWaitTimed", "mysql_real_query",
                "mysql_query",
                "redisGetReply",
            ],
            depth: 8, calls: polling.union(["recvfrom", "recvmsg", "read"])),
        FindingRule(
            kind: .embeddedScript, text: "A Lua script runs inside the program and blocks everything else",
            functions: ["lua_pcall", "lua_pcallk", "lua_call", "lua_callk", "lua_resume"]),
        FindingRule(
            kind: .regularExpression, text: "A regular expression is being matched; some take exponential time",
            functions: [
                "re_search_internal", "regexec", "__regexec", "sre_ucs1_match", "sre_match", "sre_ucs1_search",
                "pcre2_match_8", "pcre_exec", "internal_match", "v8::internal::RegExpImpl::IrregexpExec",
                "v8::internal::Runtime_RegExpExec", "Builtins_RegExpExecInternal", "Builtins_RegExpMatchFast",
                "Builtins_RegExpPrototypeExec", "Builtins_RegExpPrototypeTest", "Builtins_RegExpReplace",
                // Perl, Ruby, libstdc++.
                "Perl_regexec_flags", "Perl_pregexec", "S_regmatch", "S_regtry", "rb_reg_search", "rb_reg_search0",
                "rb_reg_search_set_match", "rb_reg_start_with_p", "rb_reg_match", "onig_match", "onig_search",
                "std::__detail::_Executor",
            ]),
        FindingRule(
            kind: .mainActorWork, text: "A task of the main actor works or waits on the main thread without suspending",
            functions: ["swift_job_run", "swift_job_runImpl", "swift::runJobInEstablishedExecutorContext"]),
    ]
}
