// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

/// Advice for app authors about the cause of an incident.
enum Advice {
    /// The advice as one paragraph.
    ///
    /// - Parameter blame: who is at fault; nil for a capture on request.
    static func paragraph(for report: Report, _ blame: Blame?) -> String {
        guard let linux = report.body.linux else { return foreign(report) }
        let advice = paragraph(for: report, linux, blame)
        guard linux.crash == nil, let more = UnnamedFunctions.advice(for: report) else { return advice }
        return "\(advice) \(more)"
    }

    private static func paragraph(for report: Report, _ linux: LinuxDetails, _ blame: Blame?) -> String {
        guard linux.kind != .capture else {
            return
                "The stacks were requested: no allowance was exhausted, and the app continues. They show one moment, in "
                + "which waiting in the main loop is what an idle app does."
        }
        guard linux.allowance.kind != "triggered" else {
            return
                "The app asked to be ended (WATCHDOG=trigger). Its own log or STATUS= says why; the stacks show who asked."
        }
        if let crash = linux.crash {
            return CrashAdvice.paragraph(for: crash, linux.verdict.kind, isStackOverflow: report.isStackOverflow)
        }
        if let deadlock = Deadlock(report) { return deadlock.advice }
        if let fault = ProcessFault(linux) { return fault.paragraph }
        let thread = report.decidingGoroutine == nil ? report.decidingStack : report.faultingStack
        let call = thread?.systemCall?.name
        if let missed = MissedAdvice(linux, call: call) { return missed.paragraph }
        let findings = linux.findings?.compactMap { FindingAdvice.sentence(for: $0.kind) } ?? []
        let isBoth = linux.verdict.kind != .busy && blame?.party == .appAndMachine
        let cause = isBoth ? slowedDown : lock(linux) ?? cause(linux.verdict.kind, call)
        let event = event(report.event, linux.verdict.kind, hasScreen: linux.lifecycle != nil)
        return [findings.first ?? cause, event].compactMap(
            \.self
        )
        .joined(separator: " ")
    }

    private static let slowedDown =
        "It computed whenever it had a CPU: look first for a loop that does not end, or for work that does not belong on the "
        + "main loop. Then look at what else ran: load, the CPU quota of the cgroup (cpu.max), the number of CPUs."

    /// Advice on a lock of the kernel that looks like a slow device; nil for anything else.
    private static func lock(_ linux: LinuxDetails) -> String? {
        if linux.isWaitingForMemoryMap { return memoryMap }
        return linux.isOnFrozenFileSystem ? frozen : nil
    }

    private static let frozen =
        "This report shows nothing wrong in the app. Somebody froze the file system: fsfreeze, a snapshot of a volume or a virtual "
        + "machine (a guest agent), a backup. See what takes snapshots and how long it keeps the file system frozen; "
        + "fsfreeze --unfreeze MOUNT thaws it. A process that waits for it does not end, even by SIGKILL."

    private static let memoryMap =
        "Something held the lock of the process's memory map: another thread that maps or unmaps a large region, or a "
        + "monitoring program that reads /proc/PID/smaps, maps or the process's memory. Map and unmap in small pieces, reuse "
        + "large regions, and look at what monitors the process."

    private static func cause(_ kind: Verdict.Kind, _ call: String?) -> String {
        switch kind {
        case .blocked: blocked(in: call)
        case .spinning:
            "Move the computation off the main loop, or cut it into pieces that return to the loop in between; ask "
                + "whether it must be done at all, done now, or done for everything. One stack is one moment: the "
                + "outermost frame that is always there is the work, the innermost is where it happened to be."
        case .starved:
            "The app would have answered. Look at what else ran: load, CPU quota of the cgroup (cpu.max), the number of "
                + "CPUs. If it is the app's own workers, run them at lower priority or fewer at once. A longer allowance "
                + "hides this and fixes nothing."
        case .throttled:
            "The cgroup may use no more CPU than its quota (cpu.max, cpu.cfs_quota_us; CPUQuota= in systemd), and it was used "
                + "up. Raise the quota, or find who in the cgroup uses it: the app's own workers and children count. "
                + "Fewer threads at once use a quota up later in each period."
        case .memoryStalled:
            "Memory was short: pages of the program and its files were evicted and read back repeatedly. Look at "
                + "the memory limit of the cgroup (memory.max, memory.high), at what else uses memory (memory.stat, free), "
                + "and at the app's own use. A longer allowance hides this and fixes nothing."
        case .busy:
            "It computed and queued for a CPU by turns. Take the work off the main loop first; then look at the load and "
                + "the CPU quota, which made it slower than it is."
        case .partlyRunning:
            "It did many things that each run and wait, such as files read one after another. Move the whole sequence to a "
                + "thread and return only its result to the main loop. The stack is one moment of several."
        case .uninterruptible:
            "The kernel waited for a device: look for a slow or full disk, memory that is being paged in, or a network file "
                + "system whose server is gone (dmesg, iostat, /proc/mounts). Then keep file access off the main loop, so "
                + "that the next slow disk delays a worker and not the app."
        case .stopped:
            "This report shows nothing wrong in the app. Find who sent SIGSTOP or SIGTSTP: a shell's job control, a "
                + "debugger, a script; SIGCONT resumes it."
        case .traced:
            "This report shows nothing wrong in the app. A debugger, strace or a profiler controlled it; end that, or run "
                + "with --enforce report while you use it."
        case .frozen:
            "This report shows nothing wrong in the app. Somebody froze its cgroup (systemctl freeze, a container's pause, "
                + "a snapshot); thaw it."
        case .exited:
            "Do not end the main thread while others run: leave with exit(), or keep its loop going."
        case .crashed, .killed, .failed:
            "Begin at the app's innermost frame on the faulting thread."
        case .unknown:
            "Run watchdogd with more rights (root, or the same user where ptrace is allowed), so that the next report has "
                + "evidence."
        }
    }

    private static func blocked(in call: String?) -> String {
        switch call {
        case "futex", "futex_wait", "futex_waitv", "futex_wait_requeue_pi":
            "The main thread waits for a lock, a semaphore or another thread. Never wait on the main loop for what a worker "
                + "does: let the worker hand its result to the main loop when it is done. For a lock, find who holds it "
                + "among the other threads, hold it shorter, and never across I/O."
        case "recvfrom", "recvmsg", "recvmmsg", "accept", "accept4", "connect", "sendto", "sendmsg", "sendmmsg":
            "A network peer decides how long this takes, and it may never answer. Talk to it on a thread of its own, with a "
                + "timeout and a way to cancel, and show something useful meanwhile. Then look at the peer."
        case "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2":
            "The main thread waits for descriptors. If this is a library's private wait (a client's request, name lookup, a "
                + "modal loop), do that on another thread, with a timeout. If it is the app's own main loop, it is idle and does "
                + "not serve what was asked of it: pings must be answered from this loop."
        case "flock", "fcntl":
            "Another process holds a file lock (/proc/locks, lslocks). Take such locks on another thread, try without waiting "
                + "first (LOCK_NB, F_SETLK) and give up after a time."
        case "fsync", "fdatasync", "msync", "sync", "syncfs", "pread64", "pwrite64", "openat", "newfstatat",
            "getdents64":
            "The main thread waits for a file system. Read, write and sync on another thread; at launch, read only what is "
                + "needed first."
        case "read", "readv", "write", "writev", "splice":
            "The other end of the pipe, socket, terminal or file decides how long this takes. Do it on another thread with a "
                + "timeout, or make the descriptor non-blocking and let the main loop report when it is ready."
        case "wait4", "waitid":
            "The main thread waits for a child process. Learn of its end without waiting (a pidfd or SIGCHLD as a source of "
                + "the main loop), and end a child that takes too long."
        case "vfork", "clone", "clone3":
            "The main thread is suspended until the child that it started executes its program or ends. See what the child "
                + "does before that: open its files without waiting, and start programs from another thread."
        case "nanosleep", "clock_nanosleep", "pause", "rt_sigtimedwait", "rt_sigsuspend":
            "The main thread sleeps on purpose. Use a timer of the main loop instead of sleeping, and an event instead of "
                + "polling."
        default:
            "Get the call off the main loop: do it on another thread, with a timeout and a way to cancel, and hand only the "
                + "result back to the main loop."
        }
    }

    /// Advice specific to the event; nil when the app is not at fault.
    ///
    /// - Parameter hasScreen: whether the app takes part in the lifecycle of apps with a screen.
    private static func event(_ event: String, _ kind: Verdict.Kind, hasScreen: Bool) -> String? {
        guard [.blocked, .spinning, .busy, .partlyRunning].contains(kind) else { return nil }
        switch event {
        case "process-launch", "scene-create":
            return hasScreen
                ? "At launch, do only what the first screen needs, show that with placeholders, and load the rest after it."
                : "Before it is ready, do only what the first request needs, and load the rest afterward."
        case "process-exit":
            return
                "Save as little as possible at the end: save documents while running, and exit at once when asked to."
        default: return nil
        }
    }

    private static func foreign(_ report: Report) -> String {
        report.body.termination?.code == 0x8bad_f00d
            ? "A watchdog of another system ended it because it was not responsive: see what the faulting thread waits for, "
                + "and get that off the main thread."
            : "This is a crash, not a hang: begin at the app's innermost frame on the faulting thread."
    }
}
