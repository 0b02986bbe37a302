// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

extension WaitLook {
    // MARK: - File locks

    func fileLock(_ number: Int32, _ place: Place, kinds: Set<String>) -> Finding {
        var finding = openFile(number, place)
        if finding.subject.isEmpty { finding.subject = "fd \(number)" }
        let inode = info(place.process, number)?.inode
        let found =
            lock(amongFamily: number, place, kinds, inode)
            ?? (isWithinApp ? nil : lock(place.process, kinds, inode))
        guard let (lock, source, keeper) = found else { return finding }
        finding.sources += ["/proc/\(place.process)/fdinfo/\(number)", source]
        // The lock of an open file belongs to whoever has the file open.
        guard let process = owner(of: lock, keptBy: keeper, number, place) else {
            if lock.kind == "OFDLCK" { finding.subject += ", locked through another open file" }
            return finding
        }
        let stat = ProcessStat.read(process)
        finding.holder = Wait.Holder(
            relation: .locks, process: process, thread: nil, name: Self.quotable(stat?.name ?? ""),
            state: stat.map(Self.state))
        if stat?.threadCount == 1 { finding.next = Place(process: process, thread: process) }
        return finding
    }

    /// The process that has taken a lock or, once that has ended, one that has inherited the open file and with it the lock:
    /// flock(2).
    private func owner(of lock: FileLock, keptBy keeper: Int32?, _ number: Int32, _ place: Place) -> Int32? {
        guard let process = lock.process else { return keeper }
        guard lock.kind == "FLOCK", ProcessStat.read(process).map({ $0.state == .zombie }) ?? true else {
            return process
        }
        return keeper ?? heir(of: lock, number, place) ?? process
    }

    private func heir(of lock: FileLock, _ number: Int32, _ place: Place) -> Int32? {
        guard !isWithinApp, let link = SymbolicLink.target("/proc/\(place.process)/fd/\(number)") else { return nil }
        return budget.useReserve { left in
            Procfs.processes().first { process in
                Procfs.numbers(in: "/proc/\(process)/fd").prefix(1_024).contains { descriptor in
                    !left.isSpent && SymbolicLink.target("/proc/\(process)/fd/\(descriptor)") == link
                        && info(process, descriptor)?.locks.contains { found in
                            found.kind == lock.kind && found.inode == lock.inode && found.process == lock.process
                        } == true
                }
            }
        }
    }

    /// An exclusive lock held by a process of the app.
    ///
    /// Checked first, because reading `/proc/locks` takes some milliseconds: it takes the write side of a per-CPU
    /// semaphore, `locks_start` in fs/locks.c.
    private func lock(
        amongFamily number: Int32, _ place: Place, _ kinds: Set<String>, _ inode: UInt64?
    ) -> (lock: FileLock, source: String, keeper: Int32?)? {
        guard let inode, let link = SymbolicLink.target("/proc/\(place.process)/fd/\(number)") else { return nil }
        let isOfOpenFile = !kinds.isDisjoint(with: ["FLOCK", "OFDLCK"])
        var found: (lock: FileLock, source: String, keeper: Int32?)?
        _ = processes(holding: link, startingWith: place.process) { process, descriptor in
            guard found == nil, process != place.process || isOfOpenFile && descriptor != number else {
                return false
            }
            let lock = info(process, descriptor)?.locks.first {
                kinds.contains($0.kind) && $0.inode == inode && $0.isExclusive && $0.isOnWholeFile
            }
            if let lock { found = (lock, "/proc/\(process)/fdinfo/\(descriptor)", process) }
            return found != nil
        }
        return found
    }

    private func lock(
        _ process: Int32, _ kinds: Set<String>, _ inode: UInt64?
    ) -> (lock: FileLock, source: String, keeper: Int32?)? {
        guard let file = try? OwnedDescriptor(opening: "/proc/locks", flags: O_RDONLY) else { return nil }
        var wait = LockWait(of: process, kinds: kinds, inode: inode)
        var count = 0
        let isWhole = budget.useReserve { left in
            Procfs.forEachLine(file, limit: 1 << 20) { line in
                wait.read(line)
                // Asking takes longer than reading a line.
                count += 1
                return !count.isMultiple(of: 64) || !left.isSpent
            }
        }
        // A partial table may lead to the wrong wait.
        guard isWhole, let holder = wait.holder else { return nil }
        return (holder, "/proc/locks", nil)
    }

    // MARK: - Children

    func child(ofType type: Int32, _ id: Int32, _ place: Place) -> Finding {
        // idtype_t: P_ALL, P_PID, P_PGID, P_PIDFD.
        switch type {
        case 0: child(waitedFor: -1, place)
        case 1: child(waitedFor: id, place)
        case 2: Finding(subject: "a child of a process group")
        case 3: info(place.process, id)?.process.map { child(waitedFor: $0, place) } ?? Finding()
        default: Finding()
        }
    }

    /// `pidfd of pid 912 "sleep", which is stopped`.
    static func pidfd(of id: Int32) -> String {
        guard id > 0, let stat = ProcessStat.read(id) else { return id < 0 ? "pidfd of an ended process" : "pidfd" }
        return "pidfd of pid \(id) \"\(quotable(stat.name))\"\(deed(state(stat)).map { ", which \($0)" } ?? "")"
    }

    /// Notes the child whose end a call waits for that has only this file: its pidfd, or a signalfd for SIGCHLD.
    func note(childOf number: Int32, _ place: Place, _ finding: inout Finding) {
        guard finding.subject.hasPrefix("fd \(number): pidfd") || finding.subject.hasSuffix(": signalfd"),
            let information = info(place.process, number)
        else { return }
        let child: Finding
        if let id = information.process, id > 0 {
            child = self.child(waitedFor: id, place)
        } else if let signals = information.signals, signals & SignalStatus.child != 0 {
            child = childSignal(place)
        } else {
            return
        }
        guard child.holder != nil else { return }
        finding.holder = child.holder
        finding.next = child.next
        finding.sources += child.sources
    }

    /// A wait for signals that the end of a child would end, because it sends one of them.
    func signals(_ call: BlockedCall, _ place: Place) -> Finding {
        guard let status = SignalStatus(place.process, thread: place.thread) else { return Finding() }
        let isForChildren: Bool
        switch call.kind {
        case WD_CALL_SUSPEND:
            guard let blocked = set(at: call.arguments[0], place) else { return Finding() }
            isForChildren = status.catchesChild && blocked & SignalStatus.child == 0
        case WD_CALL_SIGNAL:
            guard let awaited = set(at: call.arguments[0], place) else { return Finding() }
            isForChildren = awaited & SignalStatus.child != 0
            if !isForChildren { return Finding(subject: Self.names(ofSignals: awaited)) }
        default: isForChildren = status.catchesChild && status.blocked & SignalStatus.child == 0
        }
        return isForChildren ? childSignal(place) : Finding()
    }

    /// `SIGUSR1 or SIGTERM`, `any of 12 signals`.
    private static func names(ofSignals set: UInt64) -> String {
        let numbers = (1...64).filter { set >> UInt64($0 - 1) & 1 == 1 }
        guard numbers.count <= 3 else { return "any of \(numbers.count) signals" }
        return numbers.map(SignalName.of).joined(separator: " or ")
    }

    /// A signal set in the memory of a process: on Linux 64 bits, the first for signal 1.
    private func set(at address: UInt64, _ place: Place) -> UInt64? {
        memory(place.process, at: address, count: 8).map { $0.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    }

    /// The wait for the signal that the end of a child sends.
    func childSignal(_ place: Place) -> Finding {
        guard let children = children(of: place.process), !children.isEmpty else { return Finding() }
        guard children.count == 1 else { return Finding(subject: "SIGCHLD of any of \(children.count) children") }
        return Finding(
            subject: "SIGCHLD", holder: Self.holder(.anyChild, children[0]),
            next: Place(process: children[0].id, thread: children[0].id),
            sources: ["/proc/\(place.process)/status", "/proc/\(children[0].id)/stat"])
    }

    func child(waitedFor id: Int32, _ place: Place) -> Finding {
        guard id != 0, id >= -1 else { return Finding(subject: "a child of a process group") }
        guard id < 0 else {
            guard let stat = ProcessStat.read(id), stat.parent == place.process else {
                return Finding(subject: "pid \(id)")
            }
            return Finding(
                subject: "child", holder: Self.holder(.child, stat), next: Place(process: id, thread: id),
                sources: ["/proc/\(id)/stat"])
        }
        guard let children = children(of: place.process) else { return Finding(subject: "any child") }
        guard children.count == 1 else {
            return Finding(subject: children.isEmpty ? "any child" : "any of \(children.count) children")
        }
        return Finding(
            subject: "any child", holder: Self.holder(.anyChild, children[0]),
            next: Place(process: children[0].id, thread: children[0].id),
            sources: ["/proc/\(children[0].id)/stat"])
    }

    /// The child that still uses the memory of its parent.
    ///
    /// Until it executes a program or ends, its parent sleeps uninterruptibly: vfork(2), posix_spawn(3).
    func startedChild(_ place: Place) -> Finding {
        guard let memory = ProcessStatus.memoryLines(place.process) else { return Finding() }
        let sharing = (children(of: place.process) ?? []).filter {
            !budget.isSpent && ProcessStatus.memoryLines($0.id) == memory
        }
        // Two threads may each wait for one.
        guard sharing.count == 1, !budget.isSpent, let child = sharing.first else { return Finding() }
        return Finding(
            subject: "child", holder: Self.holder(.child, child), next: Place(process: child.id, thread: child.id),
            sources: ["/proc/\(child.id)/stat", "/proc/\(child.id)/status", "/proc/\(place.process)/status"])
    }

    /// Nil if there is no time to look at all of them.
    private func children(of process: Int32) -> [ProcessStat]? {
        var children: [ProcessStat] = []
        let family = family()
        // Of a process outside of the app, the kernel names them.
        let candidates = family.contains(process) ? family : Procfs.children(of: process)
        for relative in candidates.prefix(256) where relative != process {
            guard !budget.isSpent else { return nil }
            if let stat = ProcessStat.read(relative), stat.parent == process { children.append(stat) }
        }
        return children
    }

    private static func holder(_ relation: WaitRelation, _ stat: ProcessStat) -> Wait.Holder {
        Wait.Holder(
            relation: relation, process: stat.id, thread: nil, name: quotable(stat.name), state: state(stat))
    }
}
