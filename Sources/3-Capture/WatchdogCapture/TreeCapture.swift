// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// Captures the processes of an app other than its main process, one after the other.
///
/// They are captured on a separate thread: if the kernel blocks a read of one of them, only that thread is stuck, and
/// the capture of the main process continues.
///
/// Isolation: may be used from any thread.
final class TreeCapture: Sendable {
    struct Request: Sendable {
        /// All processes of the app.
        let members: TreeMembers
        /// The main process, which is skipped.
        let main: Int32
        /// The processes to capture first.
        let preferred: [Int32]
        /// The owner of the processes.
        let tenant: Tenant
        /// Whether the app is killed afterward; otherwise its processes must not be disturbed.
        var kills = false
        /// Whether threads on a CPU may be stopped briefly; without that, they have no stack.
        var stopsRunning = true
    }

    /// The maximum number of threads, including stuck ones.
    static let seats = StuckWaits.Limits(app: 2, user: 4, all: 32)

    private struct State {
        var snapshot = TreeSnapshot()
        var isOver = false
    }

    /// The resources that the snapshots hold so far.
    private struct Spent {
        var threads = 0
        var bytes = 0
        var files: [FileIdentity: OwnedDescriptor] = [:]

        /// The descriptor to keep of a file: processes forked from one another map the same files.
        mutating func keep(_ file: OwnedDescriptor) -> OwnedDescriptor {
            guard let identity = FileIdentity(file) else { return file }
            if let known = files[identity] { return known }
            files[identity] = file
            return file
        }
    }

    private let request: Request
    private let limits: TreeLimits
    private let threads: SpareThreads
    private let seats: ThreadSeats
    private let copiers: Copiers
    private let state = Mutex(State())

    init(
        _ request: Request, _ threads: SpareThreads, _ seats: ThreadSeats, _ copiers: Copiers,
        limits: TreeLimits = TreeLimits()
    ) {
        self.copiers = copiers
        self.request = request
        self.limits = limits
        self.threads = threads
        self.seats = seats
    }

    /// The captured processes; later captures are dropped.
    func end() -> TreeSnapshot {
        state.withLock { state in
            state.isOver = true
            defer { state.snapshot = TreeSnapshot() }
            return state.snapshot
        }
    }

    /// Captures the processes, and waits until that is done or its time has passed.
    ///
    /// Call it once.
    ///
    /// - Parameter waiting: how many other captures wait for this one.
    func run(before waiting: Int = 0) {
        // No thread for an app without other processes: reading the list of a cgroup waits for none of them.
        guard request.members.processes.contains(where: { $0 != request.main }) else { return }
        if let refusal = copiers.refusal(of: request.tenant) {
            return note("The other processes were not captured: \(refusal.words("capture")).")
        }
        let seat: ThreadSeat
        switch seats.take(for: request.tenant, at: .now()) {
        case .success(let taken): seat = taken
        case .failure(let refusal):
            return note("The other processes were not captured: \(refusal.words("capture")).")
        }
        let time = limits.time(before: waiting)
        let deadline = Instant.now() + time
        do throws(SnapshotError) {
            let isDone = try threads.run(until: deadline) { [self] arena in
                withExtendedLifetime(seat) { work(for: time, until: deadline, arena) }
            }
            if !isDone { state.withLock { $0.isOver = true } }
        } catch {
            note("The other processes were not captured: \(error).")
        }
    }

    // MARK: The thread

    /// - Returns: whether the thread may be used again: some threads of a process may be released only when it ends.
    private func work(for time: Duration, until deadline: Instant, _ arena: SnapshotArena?) -> Bool {
        let found = request.members.open(
            except: request.main, preferring: request.preferred, limit: limits.processes)
        if found.rest > 0 {
            let words = found.rest == 1 ? "process of the app was" : "processes of the app were"
            note("\(found.rest) more \(words) left out.")
        }
        guard !found.members.isEmpty else { return true }
        state.withLock { state in
            guard !state.isOver else { return }
            state.snapshot.members = found.members.map { TreeSnapshot.Member($0.stat) }
        }
        guard let arena else {
            note("The other processes were not captured: there is no memory.")
            return false
        }
        let copying = copiers.copying(for: request.tenant)
        arena.copying = copying
        defer { arena.copying = nil }
        look(found.members, by: copying, until: deadline - time * 2 / 3)
        var spent = Spent()
        var isUsable = true
        for (index, member) in found.members.enumerated() where isOpen(until: deadline) {
            let (snapshot, failure) = take(member, arena, &spent, &isUsable)
            update(index) {
                $0.snapshot = snapshot
                $0.failure = failure
            }
            let arguments = copying.arguments(of: member.stat.id, limit: 16 << 10)
            update(index) { $0.arguments = arguments }
        }
        return isUsable
    }

    /// Reads what the processes wait for; this must happen before stops interrupt their system calls.
    private func look(_ members: [TreeMembers.Member], by copying: Copying, until deadline: Instant) {
        let family = [request.main] + members.map(\.stat.id)
        for (index, member) in members.enumerated() where isOpen(until: deadline) {
            let waits = WaitLook(by: copying) { family }.chain(process: member.stat.id)
            update(index) { $0.waits = waits }
        }
    }

    private func take(
        _ member: TreeMembers.Member, _ arena: SnapshotArena, _ spent: inout Spent, _ isUsable: inout Bool
    ) -> (Snapshot?, failure: String?) {
        guard spent.threads + member.stat.threadCount <= limits.threads else {
            return (nil, "the processes have more than \(limits.threads) threads")
        }
        guard spent.bytes < limits.bytes, spent.files.count < limits.descriptors else {
            return (nil, "the stacks of the processes take too much memory")
        }
        var options = SnapshotOptions(
            pidfd: member.process.descriptor.number, startTime: member.stat.startTime,
            method: request.kills ? .ptrace : .procfsRegisters, stopsRunning: request.stopsRunning,
            stopTimeout: limits.stopTimeout)
        options.glances = !request.stopsRunning
        let (result, mustExit) = arena.take(of: member.stat.id, options)
        if mustExit { isUsable = false }
        switch result {
        case .failure(let error):
            return (nil, "\(error)")
        case .success(let snapshot):
            spent.threads += snapshot.threadCount
            spent.bytes += snapshot.byteCount
            return (Snapshot(snapshot, files: snapshot.files.map { spent.keep($0) }), nil)
        }
    }

    private func isOpen(until deadline: Instant) -> Bool {
        state.withLock { !$0.isOver } && Instant.now() < deadline
    }

    private func update(_ index: Int, _ change: (inout TreeSnapshot.Member) -> Void) {
        state.withLock { state in
            guard !state.isOver, state.snapshot.members.indices.contains(index) else { return }
            change(&state.snapshot.members[index])
        }
    }

    private func note(_ note: String) {
        state.withLock { if !$0.isOver { $0.snapshot.notes.append(note) } }
    }
}

/// The identity of a file, independent of its descriptors.
private struct FileIdentity: Hashable {
    let device: UInt
    let inode: UInt

    init?(_ file: OwnedDescriptor) {
        var status = stat()
        guard fstat(file.number, &status) == 0 else { return nil }
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }
}
