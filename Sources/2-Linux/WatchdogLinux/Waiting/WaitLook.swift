// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// Examines what a blocked thread waits for, what its holder waits for, and so on.
///
/// The work is bounded, and it never waits for the process: it queries no file system, reads only a few bytes of a
/// lock's memory, and leaves out what does not fit into the budget. All results are checked twice, because holders
/// change.
public struct WaitLook {
    /// A thread of a process.
    struct Place: Hashable {
        let process: Int32
        let thread: Int32

        var task: String { "/proc/\(process)/task/\(thread)" }
    }

    /// What a call works on.
    struct Finding: Equatable {
        var subject = ""
        /// The address of the other end of a socket, as in ``Wait/peer``.
        var peer: String?
        var holder: Wait.Holder?
        /// The thread whose wait to follow next.
        var next: Place?
        var sources: [String] = []
        /// The number of the FUSE connection of the file system that a path leads to.
        var fileServer: UInt32?
    }

    /// A capture waits for the result, so a few milliseconds; more in unoptimized code, which is ten times as slow.
    public static var usualBudget: Duration {
        #if DEBUG
            .milliseconds(20)
        #else
            .milliseconds(5)
        #endif
    }

    /// For a trail; with the reserve, less than an examiner may compute: `EXAMINING` of wd_examiner.c.
    static var trailBudget: Duration { usualBudget * 3 }

    /// For tables of the machine: `/proc/locks` with ten thousand lines takes 15 ms, a list of five thousand processes 7 ms.
    private static var reserve: Duration {
        #if DEBUG
            .milliseconds(120)
        #else
            .milliseconds(50)
        #endif
    }

    let budget: WorkBudget
    private let members: Family
    /// Whether only the app's own processes count as holders of file locks.
    let isWithinApp: Bool
    private var access = MemoryAccess()
    private let copying: Copying?

    /// Prepares an examination.
    ///
    /// - Parameters:
    ///   - budget: the calling thread's CPU time for the whole examination, without that for tables of the machine.
    ///   - isWithinApp: whether only the app's own processes count as holders of file locks; the search among all takes
    ///     some milliseconds.
    ///   - copying: reads memory; nil if the calling thread may wait forever.
    ///   - family: the app's processes, among which the other ends of pipes and sockets are searched; called once,
    ///     when needed.
    public init(
        budget: Duration = usualBudget, isWithinApp: Bool = false, by copying: Copying? = nil,
        family: @escaping () -> [Int32]
    ) {
        self.copying = copying
        self.budget = WorkBudget(budget, reserve: Self.reserve)
        self.isWithinApp = isWithinApp
        members = Family(family)
    }

    /// The same look, which reads no memory but this user's: others could keep it from returning at the app's expense.
    func readingMemory(of user: UInt32) -> WaitLook {
        var look = self
        look.access = MemoryAccess(of: user)
        return look
    }

    /// The app's processes.
    func family() -> [Int32] { members.processes(budget) }

    /// Follows the waits of a thread.
    ///
    /// - Parameter syscall: a recent reading of its `/proc/PID/task/TID/syscall`; if it has changed, the thread is not
    ///   blocked.
    /// - Returns: nil if nothing beyond that text is known.
    public func chain(process: Int32, thread: Int32, syscall: String) -> WaitChain? {
        let places = follow(Place(process: process, thread: thread), syscall)
        var waits = places.steps.map(\.wait)
        // A thread that has moved to another call may have released what it held.
        let moved = places.steps.firstIndex { Self.syscall($0.place) != $0.wait.syscall }
        if let moved { waits.removeSubrange(moved...) }
        guard let first = waits.first, !first.subject.isEmpty else { return nil }
        var cycle = moved == nil ? places.cycleStart : nil
        if let start = cycle, !places.steps[start...].allSatisfy({ isConfirmed($0) }) { cycle = nil }
        return WaitChain(waits: waits, cycleStart: cycle)
    }

    /// Follows the wait of a process's first thread; nil if it is not blocked, or nothing is known.
    public func chain(process: Int32) -> WaitChain? {
        guard let stat = ProcessStat.read(process), [.sleeping, .uninterruptible].contains(stat.state),
            let syscall = Self.syscall(Place(process: process, thread: process))
        else { return nil }
        return chain(process: process, thread: process, syscall: syscall)
    }

    /// What other threads of a process wait for, in calls that wait for one file, for a path or for a child, one of those that
    /// wait for a lock of the same thread, and the first of those that wait in epoll_wait(2): a runtime's.
    ///
    /// What else a thread waits for in futex(2) is seldom anybody's answer.
    public func besides(_ thread: Int32, of process: Int32) -> [Wait] {
        var waits: [Wait] = []
        var polling: Place?
        for other in Procfs.threads(of: process).prefix(256) where other != thread && waits.count < Self.most - 1 {
            let place = Place(process: process, thread: other)
            guard !budget.isSpent else { break }
            guard let text = Self.syscall(place), let call = BlockedCall(parsing: text) else { continue }
            if call.kind == WD_CALL_EPOLL {
                // It takes the longest.
                polling = polling ?? place
            } else if let wait = beside(call, text, at: place, waits) {
                waits.append(wait)
            }
        }
        guard let polling, !budget.isSpent, let text = Self.syscall(polling), let call = BlockedCall(parsing: text),
            call.kind == WD_CALL_EPOLL, let wait = beside(call, text, at: polling, waits)
        else { return waits }
        return waits + [wait]
    }

    private func beside(_ call: BlockedCall, _ text: String, at place: Place, _ known: [Wait]) -> Wait? {
        let finding = find(call, at: place)
        if [WD_CALL_FUTEX, WD_CALL_FUTEX_VECTOR, WD_CALL_FUTEX_WAIT].contains(call.kind) {
            guard let holder = finding.holder, holder.relation == .holds,
                !known.contains(where: { $0.holder?.thread == holder.thread })
            else { return nil }
        }
        guard !finding.subject.isEmpty, Self.syscall(place) == text else { return nil }
        return Wait(place, text, finding)
    }

    /// How many other threads are described; the last one may only be one that polls.
    static let most = 9

    private struct Step {
        let place: Place
        let call: BlockedCall?
        let wait: Wait
    }

    private static let longestChain = 8

    private func follow(_ start: Place, _ syscall: String) -> (steps: [Step], cycleStart: Int?) {
        var steps: [Step] = []
        var place = start
        while steps.count < Self.longestChain, steps.isEmpty || !budget.isSpent {
            guard let text = steps.isEmpty ? syscall : Self.syscall(place) else { break }
            let call = BlockedCall(parsing: text)
            let finding = call.map { find($0, at: place) } ?? Finding()
            steps.append(Step(place: place, call: call, wait: Wait(place, text, finding)))
            guard let next = finding.next else { break }
            if let index = steps.firstIndex(where: { $0.place == next }) {
                // File locks may be released, and children may end, through other threads: only locks in memory and the
                // ends of threads form a deadlock.
                let isClosed = steps[index...].allSatisfy { [.holds, .ends].contains($0.wait.holder?.relation) }
                return (steps, isClosed ? index : nil)
            }
            place = next
        }
        return (steps, nil)
    }

    private func isConfirmed(_ step: Step) -> Bool {
        step.call.map { find($0, at: step.place).holder == step.wait.holder } ?? false
    }

    /// What a call waits for, without what its holder waits for.
    func find(_ call: BlockedCall, at place: Place) -> Finding {
        switch call.kind {
        case WD_CALL_FUTEX, WD_CALL_FUTEX_WAIT: return futex(call, place)
        case WD_CALL_FUTEX_VECTOR: return futexes(call, place)
        case WD_CALL_FLOCK: return fileLock(call.integer(0), place, kinds: ["FLOCK"])
        case WD_CALL_FCNTL:
            // F_SETLKW and F_OFD_SETLKW, fcntl(2).
            let kinds: [Int32: Set<String>] = [7: ["POSIX"], 38: ["OFDLCK", "POSIX"]]
            return kinds[call.integer(1)].map { fileLock(call.integer(0), place, kinds: $0) }
                ?? openFile(call.integer(0), place)
        case WD_CALL_DESCRIPTOR, WD_CALL_EPOLL:
            var finding = openFile(call.integer(0), place)
            note(childOf: call.integer(0), place, &finding)
            return finding
        case WD_CALL_SEND: return openFile(call.integer(0), place, for: .sending)
        case WD_CALL_CONNECT:
            return openFile(call.integer(0), place, for: .connecting(to: address(call, place)))
        case WD_CALL_MOVE: return moved(call, to: 1, place)
        case WD_CALL_MOVE_WITH_OFFSET: return moved(call, to: 2, place)
        case WD_CALL_MESSAGE_QUEUE:
            var finding = openFile(call.integer(0), place)
            // If it is mounted, as on /dev/mqueue, its descriptor looks like any other.
            if !finding.subject.contains(": message queue ") {
                finding.subject = finding.subject.replacing(": ", with: ": message queue ", maxReplacements: 1)
            }
            return finding
        case WD_CALL_SYSTEM_V_SEMAPHORE: return semaphore(call, place)
        case WD_CALL_SYSTEM_V_QUEUE: return messageQueue(call, place)
        case WD_CALL_POLL: return polled(call, place)
        case WD_CALL_SELECT: return selected(call, place)
        case WD_CALL_WAIT4: return child(waitedFor: call.integer(0), place)
        case WD_CALL_WAITID: return child(ofType: call.integer(0), call.integer(1), place)
        case WD_CALL_START: return startedChild(place)
        case WD_CALL_PAUSE, WD_CALL_SUSPEND, WD_CALL_SIGNAL: return signals(call, place)
        default: return named(call, place)
        }
    }

    // MARK: - Reading

    /// The processes of an app without a cgroup: the first one, its descendants, and orphans of its session that their
    /// subreaper, its parent, has got; at most 64.
    ///
    /// It reads nothing about others' processes: apps that hang together would each read those of all.
    public static func processes(from first: Int32) -> [Int32] {
        let session = getsid(first)
        let siblings = ProcessStat.read(first).map { Procfs.children(of: $0.parent) } ?? []
        let orphans = siblings.filter { $0 != first && session > 0 && getsid($0) == session }.prefix(31)
        return Procfs.withDescendants([first] + orphans, limit: 64)
    }

    static func syscall(_ place: Place) -> String? {
        Procfs.line("\(place.task)/syscall", limit: 512).flatMap { $0.isEmpty ? nil : $0 }
    }

    static func name(_ place: Place) -> String {
        quotable(Procfs.line("\(place.task)/comm", limit: 64) ?? "")
    }

    /// Replaces quotation marks, so that a name cannot end its own quotation.
    static func quotable(_ name: String) -> String {
        String(name.prefix(64).map { $0 == "\"" ? "'" : $0 })
    }

    /// Whether a process's memory can be read without waiting.
    func hasSafeMemory(_ process: Int32) -> Bool { access.isSafe(process, budget) }

    /// Bytes of a process's memory; nil unless all of them can be read, and without waiting.
    func memory(_ process: Int32, at address: UInt64, count: Int) -> [UInt8]? {
        guard address > 4096, address < UInt64(Int64.max), hasSafeMemory(process) else { return nil }
        if let copying { return copying.memory(process, at: address, count: count) }
        var bytes = [UInt8](repeating: 0, count: count)
        let length = wd_read_process_memory(process, address, &bytes, UInt(count))
        return length == count ? bytes : nil
    }
}

extension Wait {
    init(_ place: WaitLook.Place, _ syscall: String, _ finding: WaitLook.Finding) {
        self.init(
            process: place.process, thread: place.thread, name: WaitLook.name(place), syscall: syscall,
            subject: finding.subject, peer: finding.peer, holder: finding.holder,
            sources: ["\(place.task)/syscall"] + finding.sources)
    }
}

/// The app's processes, searched when they are first needed.
///
/// Without a cgroup, that lists all of `/proc`, which takes a millisecond for a thousand processes.
///
/// Isolation: belongs to one thread.
final class Family {
    private let search: () -> [Int32]
    private var found: [Int32]?

    init(_ search: @escaping () -> [Int32]) { self.search = search }

    func processes(_ budget: WorkBudget) -> [Int32] {
        if let found { return found }
        let processes = budget.useReserve { _ in search() }
        found = processes
        return processes
    }
}
