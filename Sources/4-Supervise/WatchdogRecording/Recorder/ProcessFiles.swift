// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// Reads `/proc` of the recorded program.
enum ProcessFiles {
    static func tree(of process: Int32) -> [Int32] { Procfs.withDescendants([process], limit: 512) }

    /// The name of the system call in which a thread is blocked; nil if it runs or is blocked elsewhere.
    static func call(_ process: Int32, _ thread: Int32) -> String? {
        guard
            case .inside(let call)? = Procfs.text("/proc/\(process)/task/\(thread)/syscall", limit: 256).flatMap(
                SystemCall.position)
        else { return nil }
        return call.name
    }

    /// The main thread's system call and its first argument.
    static func position(_ process: Int32) -> SystemCall? {
        guard case .inside(let call)? = Procfs.text("/proc/\(process)/syscall", limit: 256).flatMap(SystemCall.position)
        else {
            return nil
        }
        return call
    }

    /// The kernel's account of a thread; `blocked` is zero.
    static func account(_ process: Int32, _ thread: Int32) -> ThreadTime? {
        ThreadSchedule.read(process, thread: thread).map { ThreadTime(running: $0.runTime, waiting: $0.runDelay) }
    }

    static func facts(_ process: Int32, _ thread: Int32, since base: ThreadTime?) -> LaunchLog.ThreadFacts? {
        guard let stat = Procfs.text("/proc/\(process)/task/\(thread)/stat", limit: 4096),
            let open = stat.firstIndex(of: "("), let close = stat.lastIndex(of: ")"), open < close
        else { return nil }
        let name = String(stat[stat.index(after: open)..<close])
        let fields = stat[stat.index(after: close)...].split(separator: " ")
        var facts = LaunchLog.ThreadFacts(process: process, thread: thread, name: name)
        if var account = account(process, thread) {
            account.running = max(account.running - (base?.running ?? .zero), .zero)
            account.waiting = max(account.waiting - (base?.waiting ?? .zero), .zero)
            facts.accounting = account
        }
        // proc_pid_stat(5): fields[0] is field 3; nice is 19, rt_priority 40, policy 41.
        guard fields.count > 38, let nice = Int(fields[16]), let priority = Int(fields[37]),
            let policy = Int(fields[38])
        else { return facts }
        facts.scheduling = ThreadScheduling(
            policy: policyName(policy), nice: nice, priority: priority, affinity: affinity(process, thread))
        return facts
    }

    private static func policyName(_ number: Int) -> String {
        let names = [
            "SCHED_OTHER", "SCHED_FIFO", "SCHED_RR", "SCHED_BATCH", "", "SCHED_IDLE", "SCHED_DEADLINE", "SCHED_EXT",
        ]
        return names.indices.contains(number) && !names[number].isEmpty ? names[number] : "policy \(number)"
    }

    private static func affinity(_ process: Int32, _ thread: Int32) -> String {
        let status = Procfs.text("/proc/\(process)/task/\(thread)/status") ?? ""
        let key = "Cpus_allowed_list:"
        let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
        return line.map { String($0.dropFirst(key.count).drop { $0 == "\t" || $0 == " " }) } ?? ""
    }

    /// The resource usage of a running process so far.
    ///
    /// The kernel reports the total CPU time exactly, but user and system time only in clock ticks. Before the first
    /// tick, all of it counts as user mode.
    static func resources(of process: Int32) -> LaunchResources {
        let stat = Procfs.text("/proc/\(process)/stat") ?? ""
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ").dropFirst()
        func field(_ number: Int) -> Int { max(fields.dropFirst(number - 3).first.flatMap { Int($0) } ?? 0, 0) }
        let systemTicks = field(15) + field(17)
        let ticks = field(14) + field(16) + systemTicks
        let counters = ProcessCounters.read(process) ?? ProcessCounters()
        let system = ticks > 0 ? counters.cpuTime * systemTicks / ticks : .zero
        return LaunchResources(
            user: counters.cpuTime - system, system: system, minorFaults: Int(counters.minorFaults),
            majorFaults: Int(counters.majorFaults),
            bytesRead: Int(counters.readBytes), peakMemory: peakMemory(of: process))
    }

    private static func peakMemory(of process: Int32) -> Int {
        let key = "VmHWM:"
        let status = Procfs.text("/proc/\(process)/status") ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
        let number = line?.dropFirst(key.count).split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } ?? 0
        return min(max(number, 0), 1 << 50) << 10
    }
}
