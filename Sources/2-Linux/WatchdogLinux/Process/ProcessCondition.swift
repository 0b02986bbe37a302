// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Whether a process can still act.
public enum ProcessCondition: Hashable, Sendable {
    /// It runs, or will.
    case alive
    /// It does not run now, but may again; one sentence says why, and what ends that.
    case stuck(String)
    /// None of its threads will ever execute another instruction of the program, though one may be held up in the kernel:
    /// until that one ends, the process keeps its descriptors and locks.
    case beyondReturn

    /// Examines a process; never waits.
    public static func of(_ pid: Int32) -> ProcessCondition {
        let threads = Procfs.threads(of: pid)
        let isFinished = threads.allSatisfy { thread in
            guard let state = ProcessStat.read(pid, thread: thread)?.state else { return true }
            return [.zombie, .dead].contains(state) || isKilled(pid, thread) || isExiting(pid, thread)
        }
        if isFinished { return .beyondReturn }
        for thread in threads {
            guard let state = ProcessStat.read(pid, thread: thread)?.state else { continue }
            switch state {
            case .stopped, .traced:
                let cure = state == .stopped ? "'kill -CONT \(pid)' continues it" : "a debugger holds it"
                return .stuck("process \(pid) is stopped (state \(state.letter)); \(cure), 'kill -KILL \(pid)' ends it")
            // Others wait for a disk for a moment only.
            case .uninterruptible where thread == pid:
                let place = WaitChannel.read(pid, thread: thread).map { " in \($0)" } ?? ""
                return .stuck(
                    "process \(pid) is blocked in the kernel\(place) (state D); 'kill -KILL \(pid)' gives it up")
            default: continue
            }
        }
        return .alive
    }

    /// Whether SIGKILL waits for a thread, which then never returns to the program: signal(7).
    private static func isKilled(_ pid: Int32, _ thread: Int32) -> Bool {
        let lines = Procfs.read("/proc/\(pid)/task/\(thread)/status", limit: 16 << 10)?.split(
            separator: UInt8(ascii: "\n"))
        guard let line = lines?.first(where: { $0.starts(with: "SigPnd:".utf8) }),
            let pending = UInt64(String(decoding: line.dropFirst("SigPnd:\t".utf8.count), as: UTF8.self), radix: 16)
        else { return false }
        return pending & 1 << 8 != 0
    }

    /// Whether a thread is in exit(2): PF_EXITING, include/linux/sched.h, in field 9 of proc_pid_stat(5).
    private static func isExiting(_ pid: Int32, _ thread: Int32) -> Bool {
        guard let line = Procfs.read("/proc/\(pid)/task/\(thread)/stat", limit: 4096),
            let close = line.lastIndex(of: UInt8(ascii: ")"))
        else { return true }
        let fields = line[(close + 1)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 6, let flags = UInt64(decimal: fields[6]) else { return false }
        return flags & 4 != 0
    }

    /// The threads of this process, besides the main thread, that SIGKILL would not end now, and where each waits.
    ///
    /// Executing another program would wait for them.
    public static func threadsBeyondSignals() -> [Int32: String] {
        let own = Glibc.getpid()
        var found: [Int32: String] = [:]
        for thread in Procfs.threads(of: own) where thread != own {
            guard let stat = ProcessStat.read(own, thread: thread) else { continue }
            let channel = WaitChannel.read(own, thread: thread)
            // A signal does not end a request that a server of FUSE has read, though its thread is in state S until one
            // comes: request_wait_answer(), fs/fuse/dev.c.
            guard stat.state == .uninterruptible || channel == "request_wait_answer" else { continue }
            found[thread] = "thread \(thread) (\(stat.name)) is blocked" + (channel.map { " in \($0)" } ?? "")
        }
        return found
    }
}

/// The kernel function in which a thread waits: proc_pid_wchan(5).
public enum WaitChannel {
    /// Reads the name; nil if the thread runs in user space or is gone, or if the kernel hides the name.
    public static func read(_ pid: Int32, thread: Int32) -> String? {
        Procfs.read("/proc/\(pid)/task/\(thread)/wchan", limit: 256).flatMap { parse($0) }
    }

    /// Parses the name in a `wchan` file; nil for "0".
    static func parse(_ bytes: some Collection<UInt8>) -> String? {
        let name = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }
        guard !name.isEmpty, !name.elementsEqual("0".utf8) else { return nil }
        return String(decoding: name, as: UTF8.self)
    }
}
