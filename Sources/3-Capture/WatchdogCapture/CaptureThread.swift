// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
public import WatchdogBase
public import WatchdogLinux

/// The thread that takes snapshots, one after another, so that the supervisor's loop never waits for one.
///
/// While captures of several apps wait, extra threads help it, if the configuration allows that: apps that hang for one
/// cause reach their deadlines together, too.
///
/// A capture takes milliseconds, but the kernel may block a read of `/proc` or of a process's memory indefinitely, for
/// example while another thread of the target holds its memory map in uninterruptible sleep. A block that only a signal
/// ends cannot keep watchdogd from exiting; page faults that never return are left to ``Copiers``. The loop keeps its
/// own deadline for each capture, kills the process itself when it passes, and calls ``replaceStuckWorker(after:at:)``.
/// The stuck thread counts against the app and the user of its capture: if they have too many of them, only their
/// captures are refused.
///
/// The thread keeps this object alive until ``shutDown(within:)``.
///
/// Isolation: may be used from any thread; no call waits for a capture, except ``shutDown(within:)``.
public final class CaptureThread: Sendable {
    /// The function that a finished capture calls, on the capture thread.
    public typealias Completion = @Sendable (Result<Snapshot, SnapshotError>) -> Void
    /// The function that a finished capture of all processes of an app calls, on the capture thread.
    public typealias TreeCompletion = @Sendable (Result<Snapshot, SnapshotError>, TreeSnapshot) -> Void

    private struct Job: Sendable {
        let process: Int32
        let tenant: Tenant
        let options: SnapshotOptions
        let others: TreeCapture?
        let completion: TreeCompletion
    }

    private struct State {
        var queue: CaptureQueue<Job>
        var droppedCount = 0
        var isIdle = false
    }

    /// Takes a snapshot on the calling thread, and returns whether that thread must then end; calls the closure before
    /// a kill.
    typealias Taking =
        @Sendable (SnapshotArena, Int32, SnapshotOptions, @escaping () -> Void)
        -> (Result<Snapshot, SnapshotError>, mustExit: Bool)

    private let configuration: CaptureThreadConfiguration
    private let copiers: Copiers
    private let taking: Taking
    private let state: Mutex<State>
    private let work: PosixSemaphore
    /// Capture the other processes of apps, and those outside.
    private let threads: SpareThreads
    private let treeSeats = ThreadSeats(limits: TreeCapture.seats)
    /// Separate seats: slow captures of apps must not prevent the look that finds a report's cause.
    private let trailSeats = ThreadSeats(limits: TreeCapture.seats)
    private let recentLooks = Mutex(RecentLooks())

    /// Starts the thread and makes its working memory resident.
    ///
    /// - Parameters:
    ///   - configuration: the resources of the thread.
    ///   - copiers: read the memory of processes; without them, the thread itself does, and may block forever.
    /// - Throws: ``SnapshotError`` if no memory or no thread is available.
    public convenience init(
        _ configuration: CaptureThreadConfiguration = CaptureThreadConfiguration(), copiers: Copiers = Copiers(nil)
    ) throws(SnapshotError) {
        try self.init(configuration, copiers: copiers) { arena, process, options, beforeKill in
            arena.take(of: process, options, beforeKill: beforeKill)
        }
    }

    init(
        _ configuration: CaptureThreadConfiguration, copiers: Copiers = Copiers(nil), taking: @escaping Taking
    ) throws(SnapshotError) {
        self.copiers = copiers
        self.configuration = configuration
        self.taking = taking
        threads = SpareThreads(configuration.scheduling)
        state = Mutex(State(queue: CaptureQueue(capacity: configuration.queueLimit, width: configuration.width)))
        work = PosixSemaphore()
        try run(try SnapshotArena(resident: configuration.residentBytes), generation: 0)
    }

    /// Queues a capture, which takes a snapshot of a process.
    ///
    /// - Parameters:
    ///   - process: the process ID.
    ///   - tenant: the owner of the process.
    ///   - options: how to take the snapshot, and what happens to the process.
    ///   - completion: called once, on the capture thread. A capture that has not begun ends with `ECANCELED` after
    ///     ``shutDown(within:)``, and with an error that names the reason if too many captures of its tenant turn out
    ///     to be stuck; its process is then not touched.
    /// - Returns: nil if the capture is accepted; otherwise the reason. Then `completion` is not called, the process is
    ///   not touched, and ``droppedCount`` grows.
    @discardableResult
    public func capture(
        _ process: Int32, of tenant: Tenant, _ options: SnapshotOptions, completion: @escaping Completion
    ) -> CaptureRefusal? {
        enqueue(
            Job(process: process, tenant: tenant, options: options, others: nil) { result, _ in completion(result) })
    }

    /// Queues a capture of all processes of an app, which takes the main process first.
    ///
    /// If the main process is killed, the others are captured while it is stopped, just before the kill, which may kill
    /// them too; until then, they run. Otherwise they are captured when the main process has continued. The main
    /// process's snapshot and kill do not depend on the others, which have a quarter of a second.
    ///
    /// - Parameters:
    ///   - process: the ID of the main process.
    ///   - tenant: the owner of the processes.
    ///   - members: the processes of the app.
    ///   - preferred: the processes to capture first if not all fit.
    ///   - options: how to take the snapshot of the main process, and what happens to it.
    ///   - completion: as for ``capture(_:of:_:completion:)``.
    /// - Returns: as for ``capture(_:of:_:completion:)``.
    @discardableResult
    public func capture(
        _ process: Int32, of tenant: Tenant, with members: TreeMembers, preferring preferred: [Int32],
        _ options: SnapshotOptions, completion: @escaping TreeCompletion
    ) -> CaptureRefusal? {
        let request = TreeCapture.Request(
            members: members, main: process, preferred: preferred, tenant: tenant, kills: options.ending != .release)
        let others = TreeCapture(request, threads, treeSeats, copiers, limits: configuration.treeLimits)
        return enqueue(
            Job(process: process, tenant: tenant, options: options, others: others, completion: completion))
    }

    /// Starts to read the stacks of processes outside of an app, to which a wait of the app leads, concurrently with
    /// captures.
    ///
    /// None of these processes is stopped or interrupted, and no capture or kill waits for the look. Apps whose waits
    /// lead to the same processes share a look for a short time.
    ///
    /// - Parameters:
    ///   - processes: the processes.
    ///   - tenant: the app whose wait leads there. Reads that do not return count against the user of the process.
    public func look(at processes: [ProcessStat], for tenant: Tenant) -> TrailCapture {
        let subject = RecentLooks.Subject(processes)
        if let recent = recentLooks.withLock({ $0.look(at: subject, at: .now()) }) { return recent }
        let groups = Dictionary(grouping: processes) { ProcessStatus.read($0.id)?.user ?? tenant.user }
        let capture = TrailCapture(
            groups.map { user, processes in (Tenant(app: tenant.app, user: user), processes) },
            threads, trailSeats, copiers, time: configuration.trailTime)
        recentLooks.withLock { $0.keep(capture, at: subject, .now()) }
        return capture
    }

    private func enqueue(_ job: Job) -> CaptureRefusal? {
        let lost = copiers.refusal(of: job.tenant).map { CaptureRefusal.stuck($0) }
        let (refusal, isCalled) = state.withLock { state in
            let refusal = lost ?? state.queue.add(job, for: job.tenant, at: .now())
            if refusal != nil { state.droppedCount += 1 }
            if state.queue.waitingCount > 1 { threads.keep(true) }
            return (refusal, refusal == nil && state.queue.callExtra())
        }
        if refusal == nil { work.signal() }
        if isCalled { startExtra() }
        return refusal
    }

    /// Starts a thread that takes captures while any wait.
    private func startExtra() {
        let started = try? CaptureWorker.start { [self] in
            let arena = try? SnapshotArena(resident: 0)
            let worker = state.withLock { $0.queue.join() }
            guard let worker else { return }
            guard let arena else { return state.withLock { $0.queue.leave(worker) } }
            configuration.scheduling.apply()
            serve(arena, worker)
        }
        started?.detach()
        if started == nil { state.withLock { $0.queue.cancelExtra() } }
    }

    /// The reason why a capture of a tenant's process would be refused now; nil if it would be accepted.
    public func refusal(of tenant: Tenant, at now: Instant) -> CaptureRefusal? {
        copiers.refusal(of: tenant).map { .stuck($0) } ?? state.withLock { $0.queue.refusal(of: tenant, at: now) }
    }

    /// The number of captures in the queue.
    public var waitingCount: Int {
        state.withLock { $0.queue.waitingCount }
    }

    /// The number of refused captures since the start.
    public var droppedCount: Int {
        state.withLock { $0.droppedCount }
    }

    /// The number of replaced workers that have not returned yet.
    public var stuckWorkerCount: Int {
        state.withLock { $0.queue.stuckCount }
    }

    /// Passes the waiting captures to a new thread if the running one has taken longer than `limit`, and ends those of
    /// tenants with too many stuck captures.
    ///
    /// The stuck capture still calls its completion once the kernel lets it continue. The completions of the ended
    /// captures are called on the calling thread.
    ///
    /// - Parameters:
    ///   - limit: the maximum time of a capture; only a stuck one takes more than a second.
    ///   - now: the current time.
    /// - Returns: whether a worker was started, which takes over unless the capture ends first.
    @discardableResult
    public func replaceStuckWorker(after limit: Duration, at now: Instant) -> Bool {
        let (refused, late) = state.withLock { state in
            (state.queue.takeRefused(at: now), state.queue.late(after: limit, at: now))
        }
        for (job, refusal) in refused {
            job.completion(.failure(SnapshotError(refusing: job.process, refusal)), TreeSnapshot())
        }
        guard let late else { return false }
        let started = try? CaptureWorker.start { [self] in
            guard let arena = try? SnapshotArena(resident: configuration.residentBytes),
                let generation = state.withLock({ $0.queue.replace(late) })
            else { return }
            configuration.scheduling.apply()
            serve(arena, generation)
        }
        started?.detach()
        return started != nil
    }

    /// Refuses further captures, ends waiting ones with `ECANCELED`, and waits for the running one.
    ///
    /// - Returns: false if the running capture did not end within `limit`.
    @discardableResult
    public func shutDown(within limit: Duration = .seconds(1)) -> Bool {
        let waiting = state.withLock { $0.queue.shutDown() }
        for job in waiting {
            let canceled = Errno(rawValue: ECANCELED)
            job.completion(.failure(SnapshotError("take a snapshot", of: job.process, canceled)), TreeSnapshot())
        }
        work.signal()
        threads.keep(false)
        let deadline = Instant.now() + limit
        while !state.withLock({ $0.isIdle && $0.queue.extras.isEmpty }) {
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

    private func serve(_ arena: SnapshotArena, _ generation: Int) {
        while let job = nextJob(for: generation) {
            let runOthers: () -> Void = { [self] in
                arena.copying?.release()
                job.others?.run(before: waitingCount)
            }
            arena.copying = copiers.copying(for: job.tenant)
            let (result, mustExit) = taking(arena, job.process, job.options, runOthers)
            arena.copying = nil
            if case .release = job.options.ending { runOthers() }
            let others = job.others?.end() ?? TreeSnapshot()
            let isCurrent = finish(generation)
            job.completion(result, others)
            guard isCurrent else { return }
            // Some threads of the target are released only when this thread ends. If no successor can be started, it is
            // better that they stay stopped than that all captures wait.
            if mustExit, (try? run(arena, generation: generation)) != nil { return }
        }
    }

    /// Waits for a job; nil when this worker must end.
    private func nextJob(for worker: Int) -> Job? {
        let (job, isExtra): (Job?, Bool) = state.withLock { state in
            guard state.queue.extras.contains(worker) else { return (nil, false) }
            let job = state.queue.isShutDown ? nil : state.queue.next(for: worker, at: .now())
            if job == nil { state.queue.leave(worker) }
            return (job, true)
        }
        if isExtra { return job }
        while true {
            work.wait()
            let (job, isOver): (Job?, Bool) = state.withLock { state in
                guard state.queue.isShutDown else { return (state.queue.next(for: worker, at: .now()), false) }
                state.isIdle = true
                return (nil, true)
            }
            if isOver { return nil }
            if let job { return job }
        }
    }

    /// - Returns: false if another worker has taken over in the meantime.
    private func finish(_ generation: Int) -> Bool {
        let (isCurrent, areWaiting) = state.withLock { ($0.queue.finish(generation), $0.queue.waitingCount > 0) }
        // The queue may have skipped other captures of its tenant because of it.
        if !isCurrent || areWaiting { work.signal() }
        if !areWaiting { threads.keep(false) }
        return isCurrent
    }
}

/// Starts threads for captures, and reports failures as capture errors.
enum CaptureWorker {
    static func start(_ body: @escaping @Sendable () -> Void) throws(SnapshotError) -> WorkerThread {
        do {
            return try WorkerThread.start(body)
        } catch {
            throw SnapshotError("start a thread for snapshots", of: nil, error.errno)
        }
    }
}
