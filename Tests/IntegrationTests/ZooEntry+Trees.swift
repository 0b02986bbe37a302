// SPDX-License-Identifier: Apache-2.0

import WatchdogRendering
import WatchdogVerdict

extension ZooEntry {
    /// Programs with several processes whose stuck process is not the first, and wrappers.
    static let trees: [ZooEntry] = workers + probed + pipelines + wrappers + inits + disguises

    /// Servers with a healthy master.
    private static let workers: [ZooEntry] = [
        ZooEntry(
            kind: "gunicorn_worker_lock", program: .server, call: "pselect6", frame: "Arbiter.sleep",
            members: [Member("gunicorn", in: "flock", frame: "open_cache", wait: "/cache.lock, locked by pid")],
            culprit: "\"gunicorn\" is blocked in flock"),
        ZooEntry(
            kind: "gunicorn_worker_sleeps", program: .server, call: "pselect6", frame: "Arbiter.sleep",
            members: [Member("gunicorn", in: "clock_nanosleep", frame: "wait_for_stock")]),
        ZooEntry(
            kind: "preforking_worker_reads", program: .server, call: "wait4", frame: "reap_workers",
            finding: .childProcess, line: "any of 3 children",
            members: [Member("serving", in: "recvfrom", frame: "read_request", wait: "ESTABLISHED, nothing to read")],
            culprit: "\"serving\" is blocked in recvfrom"),
        ZooEntry(
            kind: "preforking_accept_lock", program: .server, call: "rt_sigsuspend", frame: "master_cycle",
            members: [
                Member("waiter", in: "fcntl", frame: "lock_accept_mutex", wait: "/accept.lock, locked by pid"),
                Member("waiter", in: "fcntl", frame: "lock_accept_mutex", wait: "\"holder\", which is in read (fd"),
                Member("holder", in: "read", frame: "read_request", wait: "Unix socket"),
            ], culprit: "\"holder\" is blocked in read"),
        ZooEntry(
            kind: "nginx_worker_log_pipe", program: .server, call: "rt_sigsuspend", frame: "ngx_master_process_cycle",
            finding: .idleEventLoop,
            members: [Member("nginx", in: "write", frame: "ngx_http_free_request", wait: "/access.log")],
            culprit: "\"nginx\" is blocked in write"),
        ZooEntry(
            kind: "php_fpm_worker_reads", program: .server, call: "epoll_wait", frame: "__libc_start_main",
            finding: .otherProcess, line: "/feed (fifo that nobody opens for writing)), from _php_stream_fopen",
            culprit: "is blocked in openat"),
        ZooEntry(
            kind: "postgres_postmaster", program: .server, call: "pselect6", frame: "PostmasterMain",
            finding: .idleEventLoop, members: [Member("postgres", in: "epoll_wait", frame: "ProcSleep")],
            culprit: "\"postgres\" is blocked in epoll_wait"),
        ZooEntry(
            kind: "node_cluster_worker_spins", program: .server, call: "epoll_pwait",
            frame: "node::SpinEventLoopInternal", finding: .idleEventLoop, needsCPU: true,
            // It computes, or is runnable without a CPU.
            members: [Member("node", frame: "computePrimes")], culprit: "\"node\" co"),
    ]

    /// Probed servers with a healthy master: they are judged by the worker that should answer.
    private static let probed: [ZooEntry] = [
        ZooEntry(
            kind: "probed_preforking_reads", program: .server, call: "read", frame: "read_feed", own: "read_feed",
            line: "the probe waits for python3", probe: "web.sock", culprit: "worker "),
        ZooEntry(
            kind: "probed_preforking_spins", program: .server, verdict: .spinning, frame: "compute_primes",
            own: "compute_primes", line: "the probe waits for python3", probe: "web.sock", needsCPU: true,
            culprit: "worker "),
        ZooEntry(
            kind: "probed_preforking_stopped", program: .server, verdict: .stopped, frame: "stand_still",
            line: "to accept a connection, which is stopped", fault: .somebodyElse, probe: "web.sock",
            culprit: "worker "),
        ZooEntry(
            kind: "probed_gunicorn_reads", program: .server, call: "read", frame: "read_feed", own: "read_feed",
            line: "the probe waits for gunicorn (pid", probe: "web.sock", culprit: "worker "),
        ZooEntry(
            kind: "probed_nginx_log_pipe", program: .server, call: "write", frame: "ngx_http_free_request",
            line: "the probe waits for nginx (pid", probe: "web.sock", culprit: "worker "),
    ]

    private static let pipelines: [ZooEntry] = [
        ZooEntry(
            kind: "pipeline_consumer_stuck", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "any of 2 children",
            members: [
                Member("seq", in: "write", wait: "pipe, other end in pid"),
                Member("seq", in: "write", wait: "\"flock\""),
                Member("flock", in: "flock", wait: "/lock, locked by pid"),
            ], culprit: "\"flock\" is blocked in flock"),
        ZooEntry(
            kind: "pipeline_producer_stuck", program: .server, call: "wait4", frame: "wait_for",
            finding: .childProcess, line: "any of 2 children",
            members: [
                Member("sort", in: "read", wait: "pipe, other end in pid"),
                Member("sort", in: "read", wait: "\"cat\""),
                Member("cat", in: "openat", wait: "fifo"),
            ], culprit: "\"cat\" is blocked in openat"),
    ]

    /// The wrappers' child.
    private static let stuck = Member("cat", in: "openat", wait: "fifo")
    private static let stuckCulprit = "\"cat\" is blocked in openat"

    /// Programs that start another one and wait for it, each in its own way.
    private static let wrappers: [ZooEntry] = [
        ZooEntry(
            kind: "timeout_wraps_a_lock", program: .server, call: "rt_sigsuspend", frame: "__libc_start_main",
            members: [Member("flock", in: "flock", wait: "/lock, locked by pid")],
            culprit: "\"flock\" is blocked in flock"),
        ZooEntry(
            kind: "flock_wraps_a_program", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "\"cat\" in openat: fifo", members: [stuck], culprit: stuckCulprit),
        ZooEntry(
            kind: "setsid_wraps_a_program", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "\"cat\" in openat: fifo", members: [stuck], culprit: stuckCulprit),
        ZooEntry(
            kind: "script_wraps_a_program", program: .server, call: "poll", frame: "__libc_start_main",
            members: [stuck], culprit: stuckCulprit),
        ZooEntry(
            kind: "bash_traps_and_waits", program: .server, call: "wait4", frame: "wait_builtin",
            finding: .childProcess, line: "\"cat\" in openat: fifo", members: [stuck], culprit: stuckCulprit),
        ZooEntry(
            kind: "dash_traps_and_waits", program: .server, call: "rt_sigsuspend", frame: "__libc_start_main",
            members: [stuck], culprit: stuckCulprit),
        ZooEntry(
            kind: "su_wraps_a_program", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "\"cat\" in openat: /", needsRoot: true, members: [stuck],
            culprit: stuckCulprit),
        ZooEntry(
            kind: "sudo_wraps_a_program", program: .server, call: "ppoll", frame: "sudo_ev_loop_v1", needsRoot: true,
            members: [stuck], culprit: stuckCulprit),
    ]

    /// The first process of a container.
    private static let inits: [ZooEntry] = [
        ZooEntry(
            kind: "init_waits_for_signals", program: .server, call: "rt_sigtimedwait", frame: "wait_for_signals",
            members: [stuck], culprit: stuckCulprit),
        ZooEntry(
            kind: "init_with_zombies", program: .server, call: "wait4", frame: "wait_for_program",
            finding: .childProcess, line: "\"cat\" in openat: fifo", members: [stuck], culprit: stuckCulprit),
        ZooEntry(
            kind: "init_of_a_namespace", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "\"cat\" in openat: fifo", needsRoot: true, members: [stuck],
            culprit: "\"tree\", is blocked in openat"),
        // It is linked statically, and stripped.
        ZooEntry(
            kind: "catatonit_waits_for_its_program", program: .server, call: "read", frame: "", line: "signalfd",
            members: [stuck], culprit: stuckCulprit),
    ]

    /// Wrappers that execute the program in their own process.
    private static let disguises: [ZooEntry] = [
        ZooEntry(
            kind: "setpriv_becomes_a_program", program: .server, call: "openat", frame: "__libc_start_main",
            line: "/fifo (fifo that nobody opens", needsRoot: true),
        ZooEntry(
            kind: "env_becomes_a_program", program: .server, call: "flock", frame: "open_library",
            line: "/lock, locked by pid"),
        ZooEntry(
            kind: "nice_becomes_a_program", program: .server, verdict: .spinning, frame: "lzma_code", needsCPU: true),
        ZooEntry(
            kind: "nohup_becomes_a_program", program: .server, call: "write", frame: "__libc_start_main",
            line: "pipe, other end in pid"),
        ZooEntry(
            kind: "stdbuf_becomes_a_program", program: .server, call: "read", frame: "__libc_start_main",
            line: "pipe, other end in"),
    ]
}
