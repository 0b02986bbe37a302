// SPDX-License-Identifier: Apache-2.0

import WatchdogRendering
import WatchdogVerdict

extension ZooEntry {
    /// Locks, and their lookalikes.
    static let locks: [ZooEntry] = [
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
        ZooEntry(kind: "join", call: "clock_nanosleep", frame: "sleep_for_ever", line: "the end of thread"),
        ZooEntry(kind: "once_initialiser", call: "futex", finding: .oneTimeInitialiser),
        ZooEntry(kind: "raw_futex", call: "futex", line: "word at 0x"),
        ZooEntry(kind: "several_futexes", call: "futex_waitv", line: "any of 2 words: 0x"),
        ZooEntry(kind: "one_of_one_futex", call: "futex_waitv", line: "(mutex held by thread"),
        ZooEntry(kind: "priority_inversion", call: "futex", finding: .priorityInversion, needsCPU: true),
        ZooEntry(kind: "deadlock_of_three", call: "futex", line: "waits for a mutex held by thread"),
        ZooEntry(
            kind: "deadlock_by_join", call: "futex", line: "which waits for a mutex held by this thread: deadlock"),
        ZooEntry(
            kind: "deadlock_of_two_kinds", call: "futex", line: "which waits for a mutex held by this thread: deadlock"),
        ZooEntry(kind: "mutex_of_reader", call: "futex", line: "which is in read (fd"),
        ZooEntry(kind: "mutex_chain", call: "futex", line: "which waits for a mutex held by thread"),
        ZooEntry(kind: "mutex_of_ended_thread", call: "futex", line: "(mutex held by thread"),
        ZooEntry(kind: "mutex_timed", call: "futex", line: "(mutex held by thread"),
        ZooEntry(kind: "condition_timed", call: "futex", finding: .conditionVariable),
        ZooEntry(kind: "semaphore_timed", call: "futex", finding: .posixSemaphore),
        ZooEntry(kind: "rwlock_two_writers", call: "futex", line: "(read-write lock held by thread"),
        ZooEntry(kind: "c11_mutex", call: "futex", line: "(mutex held by thread"),
        ZooEntry(kind: "c11_condition", call: "futex", finding: .conditionVariable),
        ZooEntry(kind: "shared_mutex", call: "futex", line: "(mutex held by pid"),
        ZooEntry(kind: "shared_mutex_of_stopped", call: "futex", line: "which is stopped"),
        ZooEntry(kind: "shared_mutex_of_dead", call: "futex", line: "which has ended"),
        ZooEntry(kind: "shared_semaphore", call: "futex", finding: .posixSemaphore),
    ]

    /// Pipes, terminals, and locks of files.
    static let files: [ZooEntry] = [
        ZooEntry(kind: "pipe_read", call: "read", line: "pipe"),
        ZooEntry(kind: "pipe_write", call: "write", line: "pipe"),
        ZooEntry(kind: "file_lock", call: "flock", line: "zoo.lock, locked by pid"),
        ZooEntry(kind: "record_lock", call: "fcntl", line: "zoo.lock, locked by pid"),
        ZooEntry(kind: "fifo_open", call: "openat"),
        ZooEntry(kind: "pipe_of_child", call: "read", line: "pipe, other end in pid"),
        ZooEntry(
            kind: "pipe_of_stopped_child", call: "read", line: "which is stopped", fault: .somebodyElse,
            culprit: "\"zoo\" is stopped"),
        ZooEntry(kind: "pipe_vector_read", call: "readv", line: "pipe"),
        ZooEntry(kind: "pipe_vector_write", call: "writev", line: "pipe"),
        ZooEntry(kind: "pipe_splice", call: "splice", line: "pipe, other end in this process and fd"),
        ZooEntry(kind: "pipe_tee", call: "tee", line: "pipe"),
        ZooEntry(kind: "fifo_read", call: "read", line: "/zoo.fifo"),
        ZooEntry(kind: "fifo_open_write", call: "openat", line: "zoo.fifo"),
        ZooEntry(kind: "terminal_read", call: "read", line: "terminal /dev/pts/"),
        ZooEntry(kind: "terminal_write", call: "write", line: "terminal /dev/pts/"),
        ZooEntry(kind: "open_file_lock", call: "fcntl", line: "zoo.lock, locked by this process"),
        ZooEntry(kind: "file_lock_of_its_own", call: "flock", line: "zoo.lock, locked by this process"),
        ZooEntry(kind: "lockf_lock", call: "fcntl", line: "zoo.lock, locked by pid"),
        ZooEntry(kind: "file_lock_of_reader", call: "flock", line: "zoo.lock, locked by pid"),
        ZooEntry(kind: "file_lock_of_stopped", call: "flock", line: "which is stopped"),
    ]

    /// Unix sockets and the network.
    static let sockets: [ZooEntry] = [
        ZooEntry(kind: "socketpair_message", call: "recvmsg", line: "Unix socket"),
        ZooEntry(kind: "unix_accept", call: "accept", line: "no connection to accept"),
        ZooEntry(kind: "unix_connect", call: "connect", finding: .connecting),
        ZooEntry(kind: "tcp_receive", call: "recvfrom", line: "ESTABLISHED, nothing to read"),
        ZooEntry(kind: "tcp_send", call: "sendto", line: "ESTABLISHED"),
        ZooEntry(kind: "udp_receive", call: "recvfrom", line: "UDP"),
        ZooEntry(kind: "unix_receive_of_child", call: "recvfrom", line: "other end in pid"),
        ZooEntry(kind: "unix_send", call: "sendto", line: "which does not read"),
        ZooEntry(kind: "unix_datagram_send", call: "sendto", line: "Unix socket"),
        ZooEntry(kind: "sequenced_receive", call: "recvfrom", line: "nothing to read"),
        ZooEntry(kind: "several_messages", call: "recvmmsg", line: "Unix socket"),
        ZooEntry(kind: "tcp_accept", call: "accept", line: "no connection to accept"),
        ZooEntry(kind: "tcp_connect", call: "connect", finding: .connecting, line: "SYN_SENT"),
        ZooEntry(kind: "tcp_peek", call: "recvfrom", line: "ESTABLISHED, nothing to read"),
        ZooEntry(kind: "tcp_read", call: "read", line: "ESTABLISHED, nothing to read"),
        ZooEntry(kind: "tcp_rest_of_message", call: "recvfrom", line: "ESTABLISHED, nothing to read"),
        ZooEntry(kind: "tcp_sendfile", call: "sendfile", line: "TCP 127.0.0.1:"),
        ZooEntry(kind: "tcp6_receive", call: "recvfrom", line: "TCP [::1]:"),
        ZooEntry(
            kind: "tcp_of_stopped_peer", call: "recvfrom", line: "ESTABLISHED, nothing to read", fault: .somebodyElse,
            culprit: "\"zoo\" is stopped"),
        ZooEntry(kind: "raw_netlink", call: "recvfrom", line: "NETLINK socket"),
    ]

    /// Events, time, children, threads, and the kernel.
    static let waits: [ZooEntry] = [
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
        ZooEntry(kind: "child", call: "wait4", finding: .childProcess, line: "child"),
        ZooEntry(kind: "any_child", call: "waitid", finding: .childProcess, line: "any child"),
        ZooEntry(
            kind: "vfork_parent", call: "vfork", finding: .childProcess, line: "which is in nanosleep"),
        ZooEntry(kind: "spawn_fifo", finding: .childProcess, line: "spawn.fifo", culprit: "is blocked in openat"),
        ZooEntry(kind: "vforking", call: "vfork", finding: .childProcess),
        ZooEntry(kind: "message_queue", call: "msgrcv"),
        ZooEntry(kind: "poll_two", call: "poll", line: "2 fds: "),
        ZooEntry(kind: "poll_with_signals", call: "ppoll", line: "pipe"),
        ZooEntry(kind: "poll_connection", call: "poll", line: "ESTABLISHED, nothing to read"),
        ZooEntry(kind: "poll_writable", call: "poll", line: "pipe"),
        ZooEntry(kind: "poll_nothing", call: "poll", line: "no fd"),
        ZooEntry(kind: "epoll_timer", call: "epoll_wait", line: "epoll of 1 fd: "),
        ZooEntry(kind: "epoll_two", call: "epoll_pwait", line: "ESTABLISHED, nothing to read)"),
        ZooEntry(kind: "select_two", call: "pselect6", line: "2 fds: "),
        ZooEntry(kind: "signalfd_read", call: "read", line: "signalfd"),
        ZooEntry(kind: "process_descriptor", call: "poll", line: "pidfd of pid"),
        ZooEntry(kind: "absolute_sleep", call: "clock_nanosleep"),
        ZooEntry(kind: "microseconds_sleep", call: "clock_nanosleep"),
        ZooEntry(kind: "signal_wait_timed", call: "rt_sigtimedwait"),
        ZooEntry(kind: "system_v_semaphore", call: "semtimedop", line: ", last changed by pid"),
        ZooEntry(kind: "system_v_semaphore_of_stopped", call: "semtimedop", line: "\"zoo\", which is stopped"),
        ZooEntry(kind: "system_v_semaphore_of_dead", call: "semtimedop", line: ", which has ended"),
        ZooEntry(
            kind: "system_v_semaphore_of_its_own", call: "semtimedop", line: "last changed by this process itself"),
        ZooEntry(kind: "system_v_semaphore_zero", call: "semtimedop", line: "semaphore 1 of System V semaphore set"),
        ZooEntry(kind: "system_v_queue_of_stopped", call: "msgrcv", line: "\"zoo\", which is stopped"),
        ZooEntry(kind: "system_v_queue_full", call: "msgsnd", line: "System V message queue"),
        ZooEntry(kind: "poll_message_queue", call: "poll", line: "message queue /zoo-"),
        ZooEntry(kind: "epoll_message_queue", call: "epoll_wait", line: "(message queue /zoo-"),
        ZooEntry(kind: "posix_message_queue", call: "mq_timedreceive", line: "message queue /zoo-"),
        ZooEntry(kind: "full_message_queue", call: "mq_timedsend", line: "message queue /zoo-"),
        ZooEntry(
            kind: "stopped_child", call: "wait4", finding: .childProcess, line: ", stopped", fault: .somebodyElse,
            culprit: "\"zoo\" is stopped"),
        ZooEntry(
            kind: "frozen_child", call: "wait4", finding: .childProcess, line: ", frozen", fault: .somebodyElse,
            needsRoot: true, culprit: "\"zoo\" is frozen"),
        ZooEntry(
            kind: "frozen_child_of_unified", call: "wait4", finding: .childProcess, line: ", frozen",
            fault: .somebodyElse, needsRoot: true, culprit: "\"zoo\" is frozen"),
        ZooEntry(kind: "computing_child", call: "wait4", finding: .childProcess, line: "child", needsCPU: true),
        ZooEntry(
            kind: "join_computing", frame: "compute_for_ever", finding: .otherThread, line: "\"cruncher\" computes (",
            needsCPU: true),
        ZooEntry(
            kind: "condition_of_computing", call: "futex", finding: .otherThread, line: "\"cruncher\" computes (",
            needsCPU: true),
        ZooEntry(
            kind: "lookup_in_thread", call: "futex", finding: .otherThread,
            line: "\"resolver\" looks up a host name and waits in poll (fd"),
        ZooEntry(
            kind: "join_reading", call: "read", frame: "read_for_ever",
            line: "which is in read (fd"),
        ZooEntry(kind: "system_command", call: "wait4", finding: .childProcess, line: "child"),
        ZooEntry(kind: "command_output", call: "read", line: "pipe, other end in pid"),
        ZooEntry(kind: "page_fault", line: "outside any system call (wait channel handle_userfault)", needsRoot: true),
        ZooEntry(kind: "main_thread_ends", verdict: .exited, frame: ""),
    ]

    /// The CPU, the app's own use and that of others.
    static let processors: [ZooEntry] = [
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
        ZooEntry(kind: "spin_copying", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_sorting", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_allocating", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_formatting", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_writing", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_reading", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_mapping", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_clock", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_signals", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_atomic", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_polling", verdict: .spinning, needsCPU: true),
        ZooEntry(kind: "spin_forking", verdict: .partlyRunning, needsCPU: true),
        ZooEntry(kind: "spawning", verdict: .partlyRunning, needsCPU: true),
        ZooEntry(
            // The memory can be read only while nobody holds the lock.
            kind: "memory_map", frame: "", line: "the lock of the process's memory map", needsCPU: true,
            culprit: "populate"),
        ZooEntry(kind: "starved_by_itself", verdict: .starved, fault: .app, needsCPU: true),
        ZooEntry(
            kind: "starved_by_children", verdict: .starved, fault: .app, needsCPU: true, culprit: "its own processes"),
    ]

    /// Hangs whose cause is not the one that has what is awaited, or that cannot end at all.
    static let others: [ZooEntry] = [
        ZooEntry(
            kind: "condition_of_reader", call: "futex", finding: .otherThread, line: "; thread ",
            culprit: "from fetch_quote"),
        ZooEntry(
            kind: "pool_of_reader", call: "futex", finding: .otherThread, line: "\"fetcher\" sleeps in recvfrom (fd",
            culprit: "from fetch_quote"),
        ZooEntry(
            kind: "mutex_of_condition", call: "futex", finding: .otherThread, line: "\"queue\" waits for a condition",
            culprit: "from take_connection"),
        ZooEntry(
            kind: "rwlock_of_computing", call: "futex", finding: .otherThread, line: "\"scanner\" computes (",
            needsCPU: true),
        ZooEntry(kind: "stream_lock", call: "futex", line: "(lock of a standard I/O stream held by thread"),
        ZooEntry(kind: "library_lock_in_handler", call: "futex", finding: .libraryLock, line: "that it holds itself"),
        ZooEntry(
            kind: "forked_mutex", call: "wait4", finding: .childProcess, line: "of the parent since before the fork",
            culprit: "from save_copy"),
        ZooEntry(
            kind: "pipe_to_child", call: "write", frame: "write_log", line: "pipe, other end in pid",
            culprit: "waits for a child to read from it"),
        ZooEntry(
            kind: "pipe_to_stopped_child", call: "write", frame: "write_log", line: "which is stopped",
            absent: "a cycle", fault: .somebodyElse, culprit: "\"zoo\" is stopped"),
        ZooEntry(kind: "fifo_of_child", call: "read", line: "/zoo.fifo (fifo), other end in pid"),
        ZooEntry(kind: "file_lock_of_heir", call: "flock", line: "\"heir\"", absent: "which is gone"),
        ZooEntry(kind: "unix_unaccepted", call: "read", line: "Unix socket zoo.socket, not accepted yet"),
    ]
}
