// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase
import WatchdogLinux

/// Threads with memory for a capture, which wait for the next one for as long as captures wait.
///
/// Starting a thread and mapping its memory take longer than the capture of a small process, and apps that hang for one cause need
/// one each.
///
/// Isolation: may be used from any thread.
final class SpareThreads: Sendable {
    /// What a thread does next.
    private struct Work: Sendable {
        let body: @Sendable (SnapshotArena?) -> Bool
        let done = PosixSemaphore()
    }

    /// A thread; without work, it ends.
    private final class Spare: Sendable {
        let work: Mutex<Work?>
        let signal = PosixSemaphore()

        init(_ work: Work) { self.work = Mutex(work) }
    }

    private struct State {
        var isKeeping = false
        var idle: [Spare] = []
    }

    private let scheduling: CaptureThreadConfiguration.Scheduling
    private let state = Mutex(State())

    init(_ scheduling: CaptureThreadConfiguration.Scheduling) { self.scheduling = scheduling }

    /// The number of threads that wait.
    var count: Int { state.withLock { $0.idle.count } }

    /// Runs a closure on a thread, and waits until it returns or `deadline` has passed; then it goes on by itself.
    ///
    /// - Parameters:
    ///   - deadline: when to wait no longer.
    ///   - body: gets the thread's memory, nil if there is none; returns whether the thread may be used again.
    /// - Returns: whether it has returned.
    func run(
        until deadline: Instant, _ body: @escaping @Sendable (SnapshotArena?) -> Bool
    ) throws(SnapshotError) -> Bool {
        let work = Work(body: body)
        if let spare = state.withLock({ $0.idle.popLast() }) {
            spare.work.withLock { $0 = work }
            spare.signal.signal()
        } else {
            let spare = Spare(work)
            let thread = try CaptureWorker.start { [self] in
                scheduling.apply()
                serve(spare)
            }
            thread.detach()
        }
        return work.done.wait(until: deadline)
    }

    /// Says whether threads wait for more when they are done; those that wait end otherwise.
    func keep(_ isKeeping: Bool) {
        let ended: [Spare] = state.withLock { state in
            state.isKeeping = isKeeping
            guard !isKeeping else { return [] }
            defer { state.idle = [] }
            return state.idle
        }
        for spare in ended { spare.signal.signal() }
    }

    private func serve(_ spare: Spare) {
        let arena = try? SnapshotArena(resident: 512 << 10)
        while perform(spare, arena) { spare.signal.wait() }
    }

    /// - Returns: whether there may be more; what the work retained is released.
    private func perform(_ spare: Spare, _ arena: SnapshotArena?) -> Bool {
        guard let work = spare.work.withLock({ $0.take() }) else { return false }
        let isUsable = work.body(arena)
        let isKept = state.withLock { state in
            guard isUsable, state.isKeeping else { return false }
            state.idle.append(spare)
            return true
        }
        work.done.signal()
        return isKept
    }
}
