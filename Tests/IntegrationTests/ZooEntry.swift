// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

/// One way to hang, and what the report has to say of it.
struct ZooEntry: Sendable {
    enum Program: Sendable {
        /// `Subjects/zoo.c`.
        case c
        /// `Subjects/zoo.py`.
        case python
        /// The sample app `HangMain`.
        case swift
        /// `Subjects/zoo.swift`.
        case runtime
        /// A real program that `Subjects/zoo_servers.py` brings to hang.
        case server
    }

    let kind: String
    var program = Program.c
    /// What the main thread did.
    var verdict = Verdict.Kind.blocked
    /// The system call in which it blocks; nil where it does not.
    var call: String?
    /// A function that must be on the main thread's stack; nil for `hang_` and the kind.
    var frame: String?
    /// What the stacks have to say beyond it.
    var finding: Finding.Kind?
    /// A part of the verdict's line.
    var line: String?
    /// What must not be said, because it is true of the nearest lookalike only.
    var absent: String?
    /// Whether the verdict depends on what else the machine does, so that it is alone on it.
    var needsCPU = false
    /// Whether only root can make it.
    var needsRoot = false
    /// What is known not to be found out, and why; it is printed and not counted.
    var miss: String?

    static let all: [ZooEntry] = c + python + swift + runtime + servers

    private static let c: [ZooEntry] = [
        // Locks, and what is like them and is none.
        ZooEntry(kind: "mutex", call: "futex", line: "(mutex held by thread", absent: "deadlock"),
        ZooEntry(kind: "recursive_mutex", call: "futex", line: "(recursive mutex held by thread"),
        ZooEntry(kind: "errorcheck_mutex", call: "futex", line: "(error-checking mutex held by thread"),
        ZooEntry(kind: "robust_mutex", call: "futex", line: "(robust mutex held by thread"),
        ZooEntry(kind: "pi_mutex", call: "futex", line: "(priority-inheritance mutex held by thread"),
        ZooEntry(kind: "deadlock", call: "futex", line: "waits for a mutex held by this thread: deadlock"),
        ZooEntry(kind: "self_deadlock", call: "futex", line: "mutex held by this thread: deadlock"),
        ZooEntry(kind: "rwlock_writer", call: "futex", line: "(read-write lock held by thread"),
        ZooEntry(kind: "rwlock_reader", call: "futex", finding: .readWriteLock, line: "word at 0x"),
        ZooEntry(kind: "condition", call: "futex", finding: .conditionVariable, line: "word at 0x"),
        ZooEntry(kind: "semaphore", call: "futex", finding: .posixSemaphore, line: "word at 0x"),
        ZooEntry(kind: "thread_barrier", call: "futex", finding: .barrier),
        ZooEntry(kind: "join", call: "futex", line: "the end of thread"),
        ZooEntry(kind: "once_initialiser", call: "futex", finding: .oneTimeInitialiser),
        ZooEntry(kind: "raw_futex", call: "futex", line: "word at 0x"),
        ZooEntry(kind: "priority_inversion", call: "futex", finding: .priorityInversion, needsCPU: true),
        // Others in this or another process.
        ZooEntry(kind: "pipe_read", call: "read", line: "pipe"),
        ZooEntry(kind: "pipe_write", call: "write", line: "pipe"),
        ZooEntry(kind: "child", call: "wait4", finding: .childProcess, line: "child"),
        ZooEntry(kind: "any_child", call: "waitid", finding: .childProcess, line: "any child"),
        ZooEntry(kind: "file_lock", call: "flock", line: "zoo.lock, locked by pid"),
        ZooEntry(kind: "record_lock", call: "fcntl", line: "zoo.lock, locked by pid"),
        ZooEntry(kind: "fifo_open", call: "openat"),
        ZooEntry(kind: "message_queue", call: "msgrcv"),
        ZooEntry(kind: "socketpair_message", call: "recvmsg", line: "Unix socket"),
        ZooEntry(kind: "unix_accept", call: "accept", line: "no connection to accept"),
        ZooEntry(kind: "unix_connect", call: "connect", finding: .connecting),
        // The network.
        ZooEntry(kind: "tcp_receive", call: "recvfrom", line: "ESTABLISHED, nothing to read"),
        ZooEntry(kind: "tcp_send", call: "sendto", line: "ESTABLISHED"),
        ZooEntry(kind: "udp_receive", call: "recvfrom", line: "UDP"),
        // By its own will.
        ZooEntry(kind: "plain_sleep", call: "clock_nanosleep"),
        ZooEntry(kind: "pause_for_signal", call: "pause"),
        ZooEntry(kind: "signal_wait", call: "rt_sigtimedwait"),
        ZooEntry(kind: "signal_suspend", call: "rt_sigsuspend"),
        ZooEntry(kind: "poll_descriptor", call: "poll", line: "pipe"),
        ZooEntry(kind: "epoll_descriptor", call: "epoll_wait", line: "epoll of 1 fd"),
        ZooEntry(kind: "select_descriptor", call: "pselect6", line: "pipe"),
        ZooEntry(kind: "eventfd_read", call: "read", line: "eventfd"),
        ZooEntry(kind: "timerfd_read", call: "read", line: "timerfd"),
        ZooEntry(kind: "inotify_read", call: "read", line: "inotify"),
        // Memory and the kernel.
        ZooEntry(kind: "page_fault", line: "outside any system call (wait channel handle_userfault)", needsRoot: true),
        // The child of vfork(2) has overwritten the parent's return address, so that the frame of the caller is lost.
        ZooEntry(kind: "vfork_parent", verdict: .uninterruptible, call: "vfork", frame: "handle_event"),
        ZooEntry(kind: "main_thread_ends", verdict: .exited, frame: ""),
        // The CPU, its own and that of others.
        ZooEntry(kind: "spin", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_in_kernel", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_yielding", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_lock", verdict: .spinning, frame: "pthread_spin_lock", needsCPU: true),
        ZooEntry(kind: "recursion", verdict: .spinning, frame: "fibonacci", needsCPU: true),
        ZooEntry(
            kind: "regular_expression", verdict: .spinning, finding: .regularExpression, needsCPU: true),
        ZooEntry(kind: "many_short_waits", verdict: .partlyRunning, needsCPU: true),
        ZooEntry(kind: "starved", verdict: .starved, needsCPU: true),
        ZooEntry(kind: "throttled", verdict: .throttled, needsCPU: true, needsRoot: true),
    ]

    private static let python: [ZooEntry] = [
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
    ]

    private static let swift: [ZooEntry] = [
        ZooEntry(kind: "sleep", program: .swift, call: "clock_nanosleep", frame: "refreshTimeline"),
        ZooEntry(
            kind: "semaphore", program: .swift, call: "futex", frame: "openDocument", finding: .dispatchSemaphore),
        ZooEntry(kind: "deadlock", program: .swift, call: "futex", frame: "saveSettings", line: "deadlock"),
        ZooEntry(kind: "spin", program: .swift, verdict: .spinning, frame: "renderChart", needsCPU: true),
        ZooEntry(kind: "network", program: .swift, call: "recvfrom", frame: "signIn", line: "ESTABLISHED"),
        ZooEntry(kind: "filelock", program: .swift, call: "flock", frame: "openLibrary", line: "locked by"),
        ZooEntry(kind: "dns", program: .swift, call: "poll", frame: "refreshAvatars", finding: .nameLookup),
    ]
}
