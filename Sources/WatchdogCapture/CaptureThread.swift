// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
public import WatchdogBase
public import WatchdogLinux

/// The thread that takes snapshots, one after another, so that the supervisor's loop never waits for one.
///
/// A capture takes milliseconds, but the kernel may block a read of `/proc` or of a process's memory indefinitely, for
/// example while another thread of the target holds its memory map in uninterruptible sleep. The loop therefore keeps
/// its own deadline for each capture, kills the process itself when it passes, and calls
/// ``replaceStuckWorker(after:at:)``.
///
/// The thread keeps this object alive until ``shutDown(within:)``.
///
/// Isolation: may be used from any thread; no call waits for a capture, except ``shutDown(within:)``.
public final class CaptureThread: Sendable {
    /// The function that a finished capture calls, on the capture thread.
    public typealias Completion = @Sendable (Result<Snapshot, SnapshotError>) -> Void
    /// The function that a finished capture of all processes of an app calls, on the capture thread.
    public typealias TreeCompletion = @Sendable (Result<Snapshot, SnapshotError>, TreeSnapshot) -> Void

    /// How many replaced workers may be stuck at once before captures are refused.
    private static let stuckLimit = 4

    private struct Job: Sendable {
        let process: Int32
        let options: SnapshotOptions
        let others: TreeCapture?
        let completion: TreeCompletion
    }

    private struct State {
        var waiting: [Job] = []
        var runningSince: Instant?
        /// The number of the worker that takes jobs; replaced workers have lower numbers.
        var generation = 0
        var stuckCount = 0
        var droppedCount = 0
        var isShutDown = false
        var isIdle = false
    }

    /// Takes a snapshot on the calling thread, and says whether that thread must then end; calls the closure before a
    /// kill.
    typealias Taking =
        @Sendable (SnapshotArena, Int32, SnapshotOptions, @escaping () -> Void)
        -> (Result<Snapshot, SnapshotError>, mustExit: Bool)

    private let configuration: CaptureThreadConfiguration
    private let taking: Taking
    private let state = Mutex(State())
    private let work: PosixSemaphore
    private let treeThreads = TreeCapture.Threads()

    /// Starts the thread and makes its working memory resident.
    ///
    /// - Throws: ``SnapshotError`` if no memory or no thread is available.
    public convenience init(
        _ configuration: CaptureThreadConfiguration = CaptureThreadConfiguration()
    ) throws(SnapshotError) {
        try self.init(configuration) { arena, process, options, beforeKill in
            arena.take(of: process, options, beforeKill: beforeKill)
        }
    }

    init(_ configuration: CaptureThreadConfiguration, taking: @escaping Taking) throws(SnapshotError) {
        self.configuration = configuration
        self.taking = taking
        work = PosixSemaphore()
        try run(try SnapshotArena(resident: configuration.residentBytes), generation: 0)
    }

    /// Takes a snapshot once the captures before it are done.
    ///
    /// - Parameters:
    ///   - process: the process ID.
    ///   - options: how to take the snapshot, and what happens to the process.
    ///   - completion: called once, on the capture thread. After ``shutDown(within:)``, a capture that has not begun
    ///     ends with `ECANCELED`, and its process is not touched.
    /// - Returns: false if too many captures are already waiting, or after ``shutDown(within:)``; then `completion` is
    ///   not called, nothing happens to the process, and ``droppedCount`` grows.
    @discardableResult
    public func capture(_ process: Int32, _ options: SnapshotOptions, completion: @escaping Completion) -> Bool {
        enqueue(Job(process: process, options: options, others: nil) { result, _ in completion(result) })
    }

    /// Takes snapshots of all processes of an app once the captures before it are done, the main process first.
    ///
    /// If the main process is killed, the others are captured while it is stopped, just before the kill, which may kill
    /// them too; they continue meanwhile. Otherwise they are captured when the main process has continued. The main
    /// process's snapshot and kill do not depend on the others, for which there is a quarter of a second.
    ///
    /// - Parameters:
    ///   - process: the ID of the main process.
    ///   - members: the processes of the app.
    ///   - preferred: those to capture first if there is not room for all.
    ///   - options: how to take the snapshot of the main process, and what happens to it.
    ///   - completion: as for ``capture(_:_:completion:)``.
    /// - Returns: as for ``capture(_:_:completion:)``.
    @discardableResult
    public func capture(
        _ process: Int32, with members: TreeMembers, preferring preferred: [Int32], _ options: SnapshotOptions,
        completion: @escaping TreeCompletion
    ) -> Bool {
        let request = TreeCapture.Request(
            members: members, main: process, preferred: preferred, kills: options.ending != .release)
        let others = TreeCapture(request, configuration.scheduling, treeThreads, limits: configuration.treeLimits)
        return enqueue(Job(process: process, options: options, others: others, completion: completion))
    }

    private func enqueue(_ job: Job) -> Bool {
        let isAccepted = state.withLock { state in
            guard !state.isShutDown, state.waiting.count < configuration.queueLimit,
                state.stuckCount < Self.stuckLimit
            else {
                state.droppedCount += 1
                return false
            }
            state.waiting.append(job)
            return true
        }
        if isAccepted { work.signal() }
        return isAccepted
    }

    /// How many captures have been refused.
    public var droppedCount: Int {
        state.withLock { $0.droppedCount }
    }

    /// How many replaced workers have not returned yet.
    public var stuckWorkerCount: Int {
        state.withLock { $0.stuckCount }
    }

    /// Hands the waiting captures to a new thread if the running one has taken longer than `limit`.
    ///
    /// The stuck capture still calls its completion once the kernel lets it continue.
    ///
    /// - Parameters:
    ///   - limit: how long a capture may take; a second is more than any capture takes unless it is stuck.
    ///   - now: the current time.
    /// - Returns: whether a worker was started, which takes over unless the capture ends first.
    @discardableResult
    public func replaceStuckWorker(after limit: Duration, at now: Instant) -> Bool {
        let stuck: Int? = state.withLock { state in
            guard state.stuckCount < Self.stuckLimit, let began = state.runningSince, now - began > limit else {
                return nil
            }
            return state.generation
        }
        guard let stuck else { return false }
        let started = try? CaptureWorker.start { [self] in
            guard let arena = try? SnapshotArena(resident: configuration.residentBytes), takeOver(from: stuck) else {
                return
            }
            configuration.scheduling.apply()
            serve(arena, stuck + 1)
        }
        started?.detach()
        return started != nil
    }

    /// Refuses further captures, ends waiting ones with `ECANCELED`, and waits for the running one.
    ///
    /// - Returns: false if the running capture did not end within `limit`.
    @discardableResult
    public func shutDown(within limit: Duration = .seconds(1)) -> Bool {
        let waiting = state.withLock { state in
            state.isShutDown = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in waiting {
            let canceled = Errno(rawValue: ECANCELED)
            job.completion(.failure(SnapshotError("take a snapshot", of: job.process, canceled)), TreeSnapshot())
        }
        work.signal()
        let deadline = Instant.now() + limit
        while !state.withLock({ $0.isIdle }) {
            guard Instant.now() < deadline else { return false }
            usleep(1000)
        }
        return true
    }

    // MARK: The worker

    private func run(_ arena: SnapshotArena, generation: Int) throws(SnapshotError) {
        try CaptureWorker.start { [self] in
            configuration.scheduling.apply()
            serve(arena, generation)
        }
        .detach()
    }

    /// Makes the calling worker the current one; returns false if the stuck capture has ended in the meantime.
    private func takeOver(from stuck: Int) -> Bool {
        state.withLock { state in
            guard state.generation == stuck, state.runningSince != nil else { return false }
            state.stuckCount += 1
            state.generation = stuck + 1
            state.runningSince = nil
            return true
        }
    }

    private func serve(_ arena: SnapshotArena, _ generation: Int) {
        while let job = nextJob(generation) {
            let runOthers: () -> Void = { [self] in job.others?.run(before: state.withLock { $0.waiting.count }) }
            let (result, mustExit) = taking(arena, job.process, job.options, runOthers)
            if case .release = job.options.ending { runOthers() }
            let others = job.others?.end() ?? TreeSnapshot()
            let isCurrent = finish(generation)
            job.completion(result, others)
            guard isCurrent else { return }
            // Some threads are released only when this thread ends. If no successor can be started, better they wait
            // than all captures.
            if mustExit, (try? run(arena, generation: generation)) != nil { return }
        }
    }

    /// Waits for a job; nil when this worker must end.
    private func nextJob(_ generation: Int) -> Job? {
        while true {
            work.wait()
            let (job, isOver): (Job?, Bool) = state.withLock { state in
                if state.isShutDown {
                    state.isIdle = true
                    return (nil, true)
                }
                guard !state.waiting.isEmpty else { return (nil, false) }
                state.runningSince = .now()
                return (state.waiting.removeFirst(), false)
            }
            if isOver { return nil }
            if let job { return job }
        }
    }

    /// - Returns: false if another worker has taken over in the meantime.
    private func finish(_ generation: Int) -> Bool {
        state.withLock { state in
            guard state.generation == generation else {
                state.stuckCount -= 1
                return false
            }
            state.runningSince = nil
            return true
        }
    }
}
