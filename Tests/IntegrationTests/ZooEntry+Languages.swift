// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

extension ZooEntry {
    static let python: [ZooEntry] = [
        ZooEntry(kind: "thread_lock", program: .python, call: "futex", frame: "thread_lock", finding: .pythonLock),
        ZooEntry(kind: "queue_get", program: .python, call: "futex", frame: "queue_get", finding: .pythonLock),
        ZooEntry(kind: "event_wait", program: .python, call: "futex", frame: "event_wait", finding: .pythonLock),
        ZooEntry(
            kind: "interpreter_lock", program: .python, frame: "interpreter_lock", finding: .pythonGIL,
            needsCPU: true),
        ZooEntry(
            kind: "sqlite_busy", program: .python, call: "clock_nanosleep", frame: "sqlite_busy",
            finding: .sqliteBusy),
        ZooEntry(
            kind: "child_process", program: .python, call: "wait4", frame: "child_process", finding: .childProcess,
            line: "child"),
        ZooEntry(
            kind: "http_server_silent", program: .python, call: "recvfrom", frame: "http_server_silent",
            line: "ESTABLISHED, nothing to read"),
        ZooEntry(kind: "select_forever", program: .python, frame: "select_forever", line: "Unix socket"),
        ZooEntry(
            kind: "file_lock", program: .python, call: "flock", frame: "file_lock",
            line: "zoo.lock, locked by pid"),
        ZooEntry(kind: "pipe_read", program: .python, call: "read", frame: "pipe_read", line: "pipe"),
        ZooEntry(kind: "sleep_forever", program: .python, call: "clock_nanosleep", frame: "sleep_forever"),
        ZooEntry(kind: "spin", program: .python, verdict: .spinning, frame: "spin", needsCPU: true),
        ZooEntry(
            kind: "regular_expression", program: .python, verdict: .spinning, frame: "regular_expression",
            finding: .regularExpression, needsCPU: true,
            miss: "Debian's Python is stripped: the functions of its regular expressions have no names"),
        ZooEntry(
            kind: "semaphore_acquire", program: .python, call: "futex", frame: "semaphore_acquire", finding: .pythonLock
        ),
        ZooEntry(
            kind: "condition_wait", program: .python, call: "futex", frame: "condition_wait", finding: .pythonLock),
        ZooEntry(
            kind: "barrier_wait", program: .python, call: "futex", frame: "barrier_wait", finding: .pythonLock),
        ZooEntry(
            kind: "two_locks", program: .python, call: "futex", frame: "two_locks", finding: .pythonDeadlock),
        ZooEntry(
            kind: "thread_join", program: .python, call: "futex", frame: "thread_join", finding: .pythonLock),
        ZooEntry(
            kind: "future_result", program: .python, call: "futex", frame: "future_result", finding: .pythonLock),
        ZooEntry(
            kind: "coroutine_sleeps", program: .python, call: "clock_nanosleep",
            frame: "coroutine_sleeps.<locals>.handler"),
        ZooEntry(
            kind: "coroutine_waits", program: .python, call: "epoll_wait", frame: "coroutine_waits",
            finding: .idleEventLoop, line: "epoll of"),
        ZooEntry(
            kind: "process_queue", program: .python, call: "read", frame: "process_queue", line: "pipe"),
        ZooEntry(
            kind: "process_lock", program: .python, call: "futex", frame: "process_lock", finding: .otherProcess,
            culprit: "from fetch_report"),
        ZooEntry(
            kind: "process_pool", program: .python, call: "futex", frame: "process_pool", finding: .otherProcess,
            culprit: "from fetch_report"),
        ZooEntry(
            kind: "process_executor", program: .python, call: "futex", frame: "process_executor",
            finding: .otherProcess, culprit: "from fetch_report"),
        ZooEntry(
            kind: "thread_executor", program: .python, call: "futex", frame: "thread_executor", finding: .pythonLock,
            line: "is in recvfrom, from fetch_report"),
        ZooEntry(
            kind: "process_join", program: .python, call: "wait4", frame: "process_join", finding: .childProcess,
            line: "child"),
        ZooEntry(
            kind: "command_output", program: .python, call: "poll", frame: "command_output",
            line: "pipe, other end in pid"),
        ZooEntry(
            kind: "http_request", program: .python, call: "recvfrom", frame: "http_request",
            line: "ESTABLISHED, nothing to read"),
        ZooEntry(
            kind: "tls_handshake", program: .python, call: "read", frame: "tls_handshake",
            line: "ESTABLISHED, nothing to read"),
        ZooEntry(
            kind: "accept_connection", program: .python, call: "accept4", frame: "accept_connection",
            line: "no connection to accept"),
        ZooEntry(
            kind: "poll_forever", program: .python, call: "poll", frame: "poll_forever", line: "pipe"),
        ZooEntry(
            kind: "open_fifo", program: .python, call: "openat", frame: "open_fifo", line: "zoo.fifo"),
        ZooEntry(
            kind: "signal_pause", program: .python, call: "pause", frame: "signal_pause"),
        ZooEntry(
            kind: "wait_for_child", program: .python, call: "wait4", frame: "wait_for_child", finding: .childProcess,
            line: "child"),
        ZooEntry(
            kind: "output_not_read", program: .python, call: "wait4", frame: "output_not_read", finding: .childProcess,
            line: "each waits for the other", absent: "stopped by a tracer", culprit: "\"seq\" is blocked in write"),
        ZooEntry(
            kind: "lock_of_reader", program: .python, call: "futex", frame: "lock_of_reader", finding: .pythonLock,
            line: "sleeps in recvfrom", culprit: "fetch_rates"),
        ZooEntry(kind: "spin_hashing", program: .python, verdict: .spinning, frame: "spin_hashing", needsCPU: true),
        ZooEntry(kind: "spin_sorting", program: .python, verdict: .spinning, frame: "spin_sorting", needsCPU: true),
        ZooEntry(kind: "spin_query", program: .python, verdict: .spinning, frame: "spin_query", needsCPU: true),
        ZooEntry(kind: "spin_recursion", program: .python, verdict: .spinning, frame: "spin_recursion", needsCPU: true),
    ]

    static let swift: [ZooEntry] = [
        ZooEntry(kind: "sleep", program: .swift, call: "clock_nanosleep", frame: "refreshTimeline"),
        ZooEntry(
            kind: "semaphore", program: .swift, call: "futex", frame: "openDocument", finding: .dispatchSemaphore),
        ZooEntry(kind: "deadlock", program: .swift, call: "futex", frame: "saveSettings", line: "deadlock"),
        ZooEntry(kind: "spin", program: .swift, verdict: .spinning, frame: "renderChart", needsCPU: true),
        ZooEntry(kind: "network", program: .swift, call: "recvfrom", frame: "signIn", line: "ESTABLISHED"),
        ZooEntry(kind: "filelock", program: .swift, call: "flock", frame: "openLibrary", line: "locked by"),
        ZooEntry(kind: "dns", program: .swift, call: "poll", frame: "refreshAvatars", finding: .nameLookup),
    ]

    static let languages: [ZooEntry] = java + go + rust + cpp + ruby + erlang

    /// The JVM runs `main` on a thread other than the process's first one, which waits for its end.
    static let java: [ZooEntry] = [
        ZooEntry(
            kind: "java_lock", program: .server, call: "futex", frame: "Parker::park", own: "Hang.saveOrder",
            finding: .javaLock),
        ZooEntry(
            kind: "java_deadlock", program: .server, call: "futex", frame: "ObjectMonitor::enter", own: "Hang.transfer",
            finding: .javaDeadlock, culprit: "its threads wait for locks"),
        ZooEntry(
            kind: "java_read", program: .server, call: "read", frame: "Java_sun_nio_ch_SocketDispatcher_read0",
            own: "Hang.fetchPrices", line: "ESTABLISHED, nothing to read"),
        ZooEntry(
            kind: "java_queue", program: .server, call: "futex", frame: "Parker::park", own: "Hang.takeJob",
            finding: .javaLock),
        ZooEntry(
            kind: "java_sleep", program: .server, call: "futex", frame: "JavaThread::sleep", own: "Hang.main",
            culprit: "sleeps (Thread.sleep), in Hang.main (Hang.java:"),
        ZooEntry(
            kind: "java_spin", program: .server, frame: "JavaCalls::call_helper", own: "Hang.computePrimes",
            line: "computes", needsCPU: true),
    ]

    static let go: [ZooEntry] = [
        ZooEntry(
            kind: "go_lock", program: .server, frame: "main.saveOrder", own: "main.saveOrder", finding: .goroutineWait,
            culprit: "waits for a sync.Mutex in main.saveOrder (zoo.go:"),
        ZooEntry(
            kind: "go_deadlock", program: .server, frame: "main.transfer", own: "main.transfer",
            finding: .goroutineDeadlock, culprit: "the main goroutine in main.transfer (zoo.go:"),
        ZooEntry(
            kind: "go_channel", program: .server, frame: "main.takeResult", own: "main.takeResult",
            finding: .goroutineWait, culprit: "waits to receive from a channel in main.takeResult (zoo.go:"),
        ZooEntry(
            kind: "go_read", program: .server, frame: "main.fetchPrices", own: "main.fetchPrices",
            finding: .goroutineWait, culprit: "waits for an answer from 127.0.0.1:"),
        ZooEntry(
            kind: "go_request", program: .server, frame: "main.chargeCard", own: "main.chargeCard",
            finding: .goroutineWait, culprit: "main goroutine waits for an HTTP response from 127.0.0.1:"),
        ZooEntry(
            kind: "go_serve", program: .server, frame: "main.queryStock", own: "main.queryStock",
            finding: .goroutineWait, culprit: "waits for an answer from 127.0.0.1:"),
        ZooEntry(
            kind: "go_spin", program: .server, verdict: .spinning, frame: "main.computePrimes",
            own: "main.computePrimes", needsCPU: true),
        ZooEntry(
            kind: "go_child", program: .server, call: "waitid", frame: "os.(*Process)", own: "main.runTool",
            line: "sleep"),
        ZooEntry(
            kind: "go_open", program: .server, call: "openat", frame: "syscall.openat", own: "main.openLog",
            line: "fifo"),
    ]

    static let rust: [ZooEntry] = [
        ZooEntry(
            kind: "rust_lock", program: .server, call: "futex", frame: "std::sys", own: "zoo::save_order",
            finding: .rustLock),
        ZooEntry(
            kind: "rust_channel", program: .server, call: "futex", frame: "std::sys", own: "zoo::take_job",
            finding: .channel),
        ZooEntry(
            kind: "rust_read", program: .server, call: "recvfrom", frame: "recv", own: "zoo::fetch_prices",
            line: "ESTABLISHED, nothing to read"),
        ZooEntry(
            kind: "rust_join", program: .server, frame: "zoo::compute_primes", line: "computes", needsCPU: true),
        ZooEntry(
            kind: "rust_spin", program: .server, verdict: .spinning, frame: "zoo::compute_primes",
            own: "zoo::compute_primes", needsCPU: true),
    ]

    /// Waits of C++20, with names of their own and without.
    static let cpp: [ZooEntry] = [
        ("latch", .barrier), ("barrier", .barrier), ("semaphore", .posixSemaphore), ("binary", .posixSemaphore),
        ("atomic", .conditionVariable), ("wide", .conditionVariable), ("flag", .conditionVariable),
    ].flatMap { (kind: String, finding: Finding.Kind) in
        ["cpp_\(kind)", "cpp_\(kind)_plain"].map { kind in
            ZooEntry(
                kind: kind, program: .server, call: "futex", frame: "load_catalog", own: "load_catalog",
                finding: finding)
        }
    }

    /// Debian's Ruby is stripped: only the functions that it exports have names.
    static let ruby: [ZooEntry] = [
        ZooEntry(
            kind: "ruby_lock", program: .server, call: "ppoll", frame: "rb_vm_exec", finding: .conditionVariable,
            line: "eventfd"),
        ZooEntry(
            kind: "ruby_read", program: .server, call: "poll", frame: "rb_vm_exec", line: "ESTABLISHED, nothing to read"
        ),
        ZooEntry(
            kind: "ruby_child", program: .server, call: "ppoll", frame: "rb_vm_exec", finding: .childProcess,
            culprit: "\"sleep\" is blocked in"),
        ZooEntry(kind: "ruby_spin", program: .server, verdict: .spinning, frame: "rb_vm_exec", needsCPU: true),
    ]

    /// The first thread only waits; schedulers run the program.
    static let erlang: [ZooEntry] = [
        ZooEntry(kind: "erlang_receive", program: .server, frame: "", finding: .idleEventLoop),
        ZooEntry(kind: "erlang_spin", program: .server, frame: "", line: "computes", needsCPU: true),
    ]
}
