// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogLinux
public import WatchdogPolicy

/// The thread that takes snapshots, one after the other, so that the supervisor's loop never waits for one.
///
/// A capture ends within milliseconds, but the kernel may block a read of `/proc` or of a process's memory for as long as
/// it likes: when another thread of the target holds its memory map in uninterruptible sleep, say. So the loop keeps its
/// own deadline for each capture, kills the process itself when it passes, and calls ``replaceStuckWorker(after:at:)``.
///
/// The thread keeps this object alive until ``shutDown(within:)``.
///
/// Isolation: may be used from any thread; no call waits for a capture, except ``shutDown(within:)``.
public final class CaptureThread: Sendable {
    /// What a finished capture calls, on the capture thread.
    public typealias Completion = @Sendable (Result<Snapshot, SnapshotError>) -> Void

    /// How many replaced workers may be stuck at once before captures are refused.
    private static let stuckLimit = 4

    private struct Job: Sendable {
        let process: Int32
        let options: SnapshotOptions
        let completion: Completion
    }

    private struct State {
        var waiting: [Job] = []
        var runningSince: Instant?
        /// Number of the worker that takes jobs; one that was replaced has a lower one.
        var generation = 0
        var stuckCount = 0
        var droppedCount = 0
        var isShutDown = false
        var isIdle = false
    }

    /// What takes a snapshot on the calling thread, and whether that thread must end then.
    typealias Taking =
        @Sendable (SnapshotArena, Int32, SnapshotOptions) -> (Result<Snapshot, SnapshotError>, mustExit: Bool)

    private let configuration: CaptureThreadConfiguration
    private let taking: Taking
    private let state = Mutex(State())
    private let work: PosixSemaphore

    /// Starts the thread and makes its working memory resident.
    ///
    /// - Throws: ``SnapshotError`` when there is no memory or no thread to be had.
    public convenience init(
        _ configuration: CaptureThreadConfiguration = CaptureThreadConfiguration()
    ) throws(SnapshotError) {
        try self.init(configuration) { arena, process, options in arena.take(of: process, options) }
    }

    init(_ configuration: CaptureThreadConfiguration, taking: @escaping Taking) throws(SnapshotError) {
        self.configuration = configuration
        self.taking = taking
        work = try PosixSemaphore()
        try run(try SnapshotArena(resident: configuration.residentBytes), generation: 0)
    }

    /// Takes a snapshot as soon as those before it are done.
    ///
    /// - Parameters:
    ///   - process: the process's id.
    ///   - options: how to take it, and what becomes of the process.
    ///   - completion: called once, on the capture thread. After ``shutDown(within:)``, a capture that had not begun
    ///     ends with `ECANCELED`, and its process was not touched.
    /// - Returns: false when too many captures wait already, or after ``shutDown(within:)``; then `completion` is not
    ///   called, nothing happens to the process, and ``droppedCount`` grows.
    @discardableResult
    public func capture(_ process: Int32, _ options: SnapshotOptions, completion: @escaping Completion) -> Bool {
        let isAccepted = state.withLock { state in
            guard !state.isShutDown, state.waiting.count < configuration.queueLimit,
                state.stuckCount < Self.stuckLimit
            else {
                state.droppedCount += 1
                return false
            }
            state.waiting.append(Job(process: process, options: options, completion: completion))
            return true
        }
        if isAccepted { work.signal() }
        return isAccepted
    }

    /// How many captures were refused.
    public var droppedCount: Int {
        state.withLock { $0.droppedCount }
    }

    /// How many replaced workers have not come back yet.
    public var stuckWorkerCount: Int {
        state.withLock { $0.stuckCount }
    }

    /// Gives the captures that wait to a new thread when the running one has taken longer than `limit`.
    ///
    /// The stuck capture still calls its completion when the kernel lets it go on.
    ///
    /// - Parameters:
    ///   - limit: how long a capture may take; a second is more than any takes that is not stuck.
    ///   - now: the current time.
    /// - Returns: true when a worker was started that takes over, unless the capture ends before it does.
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

    /// Refuses further captures, ends those that wait with `ECANCELED`, and waits for the running one.
    ///
    /// - Returns: false when the running capture did not end within `limit`.
    @discardableResult
    public func shutDown(within limit: Duration = .seconds(1)) -> Bool {
        let waiting = state.withLock { state in
            state.isShutDown = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in waiting {
            let canceled = Errno(rawValue: ECANCELED)
            job.completion(.failure(SnapshotError("take a snapshot", of: job.process, canceled)))
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

    /// Makes the calling worker the current one; false when the stuck capture has ended in time.
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
            let (result, mustExit) = taking(arena, job.process, job.options)
            let isCurrent = finish(generation)
            job.completion(result)
            guard isCurrent else { return }
            // Threads that only the end of this thread lets go of. Without a successor, better they wait than all.
            if mustExit, (try? run(arena, generation: generation)) != nil { return }
        }
    }

    /// Waits for a job; nil when this worker has to end.
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

    /// Returns false when another worker has taken over meanwhile.
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
