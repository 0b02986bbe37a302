// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A look at what a blocked thread waits for, on what its holder waits, and so on.
///
/// Bounded in work, and never waits for the process: it asks no file system, reads no lock's memory but a few bytes, and
/// leaves out what does not fit into the budget. What it saw is looked at twice, because holders change.
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
        var holder: Wait.Holder?
        /// Whose wait is worth a look.
        var next: Place?
        var sources: [String] = []
    }

    /// A millisecond, and more where the code is not optimised: that is ten times as slow.
    public static var usualBudget: Duration {
        #if DEBUG
            .milliseconds(20)
        #else
            .milliseconds(1)
        #endif
    }

    let budget: WorkBudget
    let family: () -> [Int32]
    private let access = MemoryAccess()

    /// Prepares a look.
    ///
    /// - Parameters:
    ///   - budget: CPU time of the calling thread for the whole look.
    ///   - family: the app's processes, among which the other ends of pipes and sockets are sought; called when needed.
    public init(budget: Duration = usualBudget, family: @escaping () -> [Int32]) {
        self.budget = WorkBudget(budget)
        self.family = family
    }

    /// Follows the waits of a thread.
    ///
    /// - Parameter syscall: the text of its `/proc/PID/task/TID/syscall` a moment ago; when it is another now, the thread
    ///   is not blocked.
    /// - Returns: nil when nothing is known beyond that text.
    public func chain(process: Int32, thread: Int32, syscall: String) -> WaitChain? {
        let places = follow(Place(process: process, thread: thread), syscall)
        var waits = places.steps.map(\.wait)
        // Whoever is in another call by now may have let go of what it held.
        let moved = places.steps.firstIndex { Self.syscall($0.place) != $0.wait.syscall }
        if let moved { waits.removeSubrange(moved...) }
        guard let first = waits.first, !first.subject.isEmpty else { return nil }
        var cycle = moved == nil ? places.cycleStart : nil
        if let start = cycle, !places.steps[start...].allSatisfy({ isConfirmed($0) }) { cycle = nil }
        return WaitChain(waits: waits, cycleStart: cycle)
    }

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
            let wait = Wait(
                process: place.process, thread: place.thread, name: Self.name(place), syscall: text,
                subject: finding.subject, holder: finding.holder, sources: ["\(place.task)/syscall"] + finding.sources)
            steps.append(Step(place: place, call: call, wait: wait))
            guard let next = finding.next else { break }
            if let index = steps.firstIndex(where: { $0.place == next }) {
                // A file lock, or a child's end, may come by another thread: only locks of threads close a circle.
                let isClosed = steps[index...].allSatisfy { $0.wait.holder?.relation == .holds }
                return (steps, isClosed ? index : nil)
            }
            place = next
        }
        return (steps, nil)
    }

    private func isConfirmed(_ step: Step) -> Bool {
        step.call.map { find($0, at: step.place).holder == step.wait.holder } ?? false
    }

    private func find(_ call: BlockedCall, at place: Place) -> Finding {
        switch call.kind {
        case WD_CALL_FUTEX: return futex(call, place)
        case WD_CALL_FLOCK: return fileLock(call.integer(0), place, kinds: ["FLOCK"])
        case WD_CALL_FCNTL:
            // F_SETLKW and F_OFD_SETLKW, fcntl(2).
            let kinds: [Int32: Set<String>] = [7: ["POSIX"], 38: ["OFDLCK", "POSIX"]]
            return kinds[call.integer(1)].map { fileLock(call.integer(0), place, kinds: $0) }
                ?? openFile(call.integer(0), place)
        case WD_CALL_DESCRIPTOR, WD_CALL_EPOLL: return openFile(call.integer(0), place)
        case WD_CALL_POLL: return polled(call, place)
        case WD_CALL_SELECT: return selected(call, place)
        case WD_CALL_WAIT4: return child(waitedFor: call.integer(0), place)
        case WD_CALL_WAITID: return child(ofType: call.integer(0), call.integer(1), place)
        case WD_CALL_OPEN: return opened(call.arguments[0], place)
        case WD_CALL_OPENAT: return opened(call.arguments[1], place)
        default: return Finding()
        }
    }

    // MARK: - Reading

    /// Processes that may be an app's, where there is no cgroup that knows: the ids from its first one on.
    public static func processes(from first: Int32) -> [Int32] {
        Array(Procfs.processes().drop { $0 < first }.prefix(64))
    }

    static func syscall(_ place: Place) -> String? {
        Procfs.line("\(place.task)/syscall", limit: 512).flatMap { $0.isEmpty ? nil : $0 }
    }

    static func name(_ place: Place) -> String {
        quotable(Procfs.line("\(place.task)/comm", limit: 64) ?? "")
    }

    /// A name that cannot end its own quotation.
    static func quotable(_ name: String) -> String {
        String(name.prefix(64).map { $0 == "\"" ? "'" : $0 })
    }

    /// Bytes of a process's memory; nil unless all of them could be read, and without waiting.
    func memory(_ process: Int32, at address: UInt64, count: Int) -> [UInt8]? {
        guard address > 4096, address < UInt64(Int64.max), access.isSafe(process, budget) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let length = wd_read_process_memory(process, address, &bytes, UInt(count))
        return length == count ? bytes : nil
    }
}
