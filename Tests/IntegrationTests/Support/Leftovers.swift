// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux

/// Resources that a supervision must not leave behind.
enum Leftovers {
    /// Living processes with this entry in their environment; a zombie has no environment.
    static func processes(marked entry: String) -> [Int32] {
        let entry = Array(entry.utf8)
        return names(in: "/proc").compactMap { Int32($0) }.filter { pid in
            guard pid != getpid(), let environment = contents(of: "/proc/\(pid)/environ") else { return false }
            return environment.split(separator: 0).contains { $0.elementsEqual(entry) }
        }
    }

    /// Those that do not execute watchdogd itself, which has processes besides the supervisor: its launcher and its
    /// examiners.
    static func programs(marked entry: String) -> [Int32] {
        processes(marked: entry).filter { pid in
            guard let executable = ProcessFacts.executable(pid)?.split(separator: "/").last else { return false }
            return !executable.hasPrefix("watchdogd")
        }
    }

    /// The command lines of processes, for a message.
    static func describe(_ processes: [Int32]) -> [String] {
        processes.map { pid in
            let words = (contents(of: "/proc/\(pid)/cmdline") ?? []).split(separator: 0)
            return "\(pid): " + words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
        }
    }

    /// The cgroup below which a supervisor of this process would create its own; nil without cgroup2.
    static let ownCgroup: String? = {
        let mounts = String(decoding: contents(of: "/proc/self/mountinfo") ?? [], as: UTF8.self).split(separator: "\n")
        let membership = String(decoding: contents(of: "/proc/self/cgroup") ?? [], as: UTF8.self).split(separator: "\n")
        guard let mount = mounts.last(where: { $0.contains(" - cgroup2 ") })?.split(separator: " ").dropFirst(4).first,
            let own = membership.first(where: { $0.hasPrefix("0::") })?.dropFirst(3)
        else { return nil }
        return own == "/" ? String(mount) : "\(mount)\(own)"
    }()

    static let canUseCgroups = ownCgroup.map { access($0, W_OK) == 0 } ?? false

    /// Whether a line reports missing cgroups at the start, on a machine where all tests lack them.
    static func isAboutCgroups(_ line: String) -> Bool {
        !canUseCgroups && line.hasPrefix("watchdogd: no cgroup: ")
    }

    /// A supervisor's cgroup, if it still exists.
    static func cgroup(ofSupervisor pid: Int32) -> String? {
        guard let path = ownCgroup.map({ "\($0)/watchdogd-\(pid)" }), access(path, F_OK) == 0 else { return nil }
        return path
    }

    /// The remaining sockets of a supervisor that had its own runtime directory, or root's.
    static func sockets(in directory: String, ofSupervisor pid: Int32) -> [String] {
        names(in: directory).filter { $0 != "watchdogd" } + names(in: "\(directory)/watchdogd")
            + names(in: "/run/watchdogd").filter { $0 == "\(pid)" }
    }

    /// Kills and reaps a child, because an unreaped one would disturb all later tests.
    static func reap(_ child: Pidfd) {
        try? child.send(SIGKILL)
        // It may have to return from the kernel first.
        let isReaped = eventually { (try? child.waitExit()) != nil }
        if !isReaped { Issue.record("process \(child.pid) was killed and does not end") }
    }

    /// Kills what a failed test left behind, and removes its cgroup.
    static func end(marked entry: String, cgroup: String?) {
        let isGone = eventually {
            let left = processes(marked: entry)
            for pid in left { kill(pid, SIGKILL) }
            if let cgroup { remove(cgroup) }
            return left.isEmpty && cgroup.map { access($0, F_OK) != 0 } ?? true
        }
        if !isGone { Issue.record("left behind: \(describe(processes(marked: entry))), \(cgroup ?? "no cgroup")") }
    }

    /// Removes a supervisor's empty cgroups, including those of an app and its command.
    static func remove(_ cgroup: String) {
        // Kernel files are neither listed nor removed.
        for name in names(in: cgroup) { remove("\(cgroup)/\(name)") }
        rmdir(cgroup)
    }

    /// A process's children that have exited and were not reaped.
    static func zombies(of pid: Int32) -> [Int32] {
        names(in: "/proc/\(pid)/task").flatMap { thread in
            (contents(of: "/proc/\(pid)/task/\(thread)/children") ?? []).split(separator: UInt8(ascii: " "))
                .compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
        }.filter { ProcessStat.read($0)?.state == .zombie }
    }
}
