// SPDX-License-Identifier: Apache-2.0

import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

extension ZooEntry {
    /// Hangs in Swift's own runtime.
    static let runtime: [ZooEntry] = [
        ZooEntry(kind: "queue_sync", program: .runtime, call: "futex", frame: "loadCatalog", finding: .dispatchSync),
        ZooEntry(
            kind: "queue_deadlock", program: .runtime, call: "futex", frame: "saveCatalog", finding: .dispatchDeadlock),
        ZooEntry(kind: "group", program: .runtime, call: "futex", frame: "waitForDownloads", finding: .dispatchGroup),
        ZooEntry(
            kind: "mutex", program: .runtime, call: "futex", frame: "readSettings", line: "held by thread",
            absent: "deadlock"),
        ZooEntry(
            kind: "pool_full", program: .runtime, call: "futex", frame: "renderPages", finding: .cooperativePoolFull),
        ZooEntry(
            kind: "main_actor", program: .runtime, call: "clock_nanosleep", frame: "importLibrary",
            finding: .mainActorWork),
        ZooEntry(
            kind: "main_actor_busy", program: .runtime, verdict: .spinning, frame: "layOutPages",
            finding: .mainActorWork, needsCPU: true),
        ZooEntry(
            kind: "continuation", program: .runtime, call: "rt_sigsuspend", frame: "_dispatch_sigsuspend",
            finding: .idleEventLoop),
    ]

    /// Third-party programs.
    static let servers: [ZooEntry] = redis + postgres + node + disk

    private static let redis: [ZooEntry] = [
        ZooEntry(kind: "redis_debug_sleep", program: .server, call: "clock_nanosleep", frame: "debugCommand"),
        ZooEntry(
            kind: "redis_lua_script", program: .server, verdict: .spinning, frame: "evalGenericCommand",
            finding: .embeddedScript, needsCPU: true),
        ZooEntry(
            kind: "redis_log_pipe", program: .server, call: "openat", frame: "serverLogRaw",
            line: "in openat (log (fifo that nobody opens for reading))"),
        ZooEntry(
            kind: "redis_disk_write", program: .server, call: "write", frame: "serverLogRaw", line: "/disk/file",
            fault: .machine, needsRoot: true),
        ZooEntry(
            kind: "redis_idle", program: .server, call: "epoll_wait", frame: "aeMain", finding: .idleEventLoop,
            line: "epoll of"),
    ]

    private static let postgres: [ZooEntry] = [
        ZooEntry(
            kind: "postgres_row_lock", program: .server, call: "epoll_wait", frame: "ProcSleep",
            finding: .databaseLock, line: "epoll of"),
        ZooEntry(kind: "postgres_sleep", program: .server, call: "epoll_wait", frame: "pg_sleep", line: "epoll of"),
        ZooEntry(
            kind: "postgres_query", program: .server, verdict: .spinning, frame: "standard_ExecutorRun", needsCPU: true),
        ZooEntry(
            kind: "postgres_client", program: .server, call: "poll", frame: "PQgetResult", finding: .databaseAnswer,
            line: "other end in pid"),
    ]

    private static let node: [ZooEntry] = [
        ZooEntry(
            kind: "node_loop", program: .server, verdict: .spinning, frame: "computePrimes", own: "computePrimes",
            needsCPU: true),
        ZooEntry(
            kind: "node_read_fifo", program: .server, call: "read", frame: "node::fs::Read", own: "<anonymous>",
            line: "/fifo"),
        ZooEntry(
            kind: "node_atomics_wait", program: .server, call: "futex", frame: "v8::internal::Builtin_AtomicsWait",
            finding: .conditionVariable),
        ZooEntry(
            kind: "node_exec_sync", program: .server, call: "epoll_pwait", frame: "node::SyncProcessRunner::Spawn",
            finding: .childProcess),
        ZooEntry(
            kind: "node_regular_expression", program: .server, verdict: .spinning, frame: "v8::internal::",
            finding: .regularExpression, needsCPU: true),
        ZooEntry(
            kind: "node_idle", program: .server, call: "epoll_pwait", frame: "node::SpinEventLoopInternal",
            finding: .idleEventLoop),
    ]

    /// The lookalikes of a slow network.
    private static let disk: [ZooEntry] = [
        ZooEntry(
            kind: "slow_disk_read", program: .server, verdict: .uninterruptible, call: "read", frame: "",
            line: "/disk/file", absent: "socket", needsRoot: true),
        ZooEntry(
            kind: "slow_disk_sync", program: .server, call: "fsync", frame: "fsync", finding: .diskSync,
            line: "/disk/file", fault: .machine, needsRoot: true),
    ]
}
