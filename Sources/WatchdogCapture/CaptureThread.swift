// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
public import WatchdogBase
public import WatchdogLinux

/// The thread that takes snapshots, one after another, so that the supervisor's loop never waits for one.
///
/// While captures of several apps wait, other threads help it, if the configuration allows: apps that hang together have
/// their deadlines together, too.
///
/// A capture takes milliseconds, but the kernel may block a read of `/proc` or of a process's memory indefinitely, for
/// example while another thread of the target holds its memory map in uninterruptible sleep. What only a signal ends does
/// not keep watchdogd from ending; pages that never answer are left to ``Copiers``. The loop keeps
/// its own deadline for each capture, kills the process itself when it passes, and calls
/// ``replaceStuckWorker(after:at:)``. The stuck thread counts against the app and the user of its capture: if they have too
/// many of them, their captures are refused, and nobody else's.
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

    /// Takes a snapshot on the calling thread, and says whether that thread must then end; calls the closure before a
    /// kill.
    typealias Taking =
        @Sendable (SnapshotArena, Int32, SnapshotOptions, @escaping () -> Void)
        -> (Result<Snapshot, SnapshotError>, mustExit: Bool)

    private let configuration: CaptureThreadConfiguration
    private let copiers: Copiers
    private let taking: Taking
    private let state: Mutex<State>
    private let work: PosixSemaphore
    private let treeSeats = ThreadSeats(limits: TreeCapture.seats)
    /// Captures of apps that are slow must not cost a report its cause.
    private let trailSeats = ThreadSeats(limits: TreeCapture.seats)
    private let recentLooks = Mutex(RecentLooks())

    /// Starts the thread and makes its working memory resident.
    ///
    /// - Parameters:
    ///   - configuration: its resources.
    ///   - copiers: read the memory of processes; without them, the thread does, and may wait forever.
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
        state = Mutex(State(queue: CaptureQueue(capacity: configuration.queueLimit, width: configuration.width)))
        work = PosixSemaphore()
        try run(try SnapshotArena(resident: configuration.residentBytes), generation: 0)
    }

    /// Takes a snapshot once the captures before it are done.
    ///
    /// - Parameters:
    ///   - process: the process ID.
    ///   - tenant: whose process it is.
    ///   - options: how to take the snapshot, and what happens to the process.
    ///   - completion: called once, on the capture thread. A capture that has not begun ends with `ECANCELED` after
    ///     ``shutDown(within:)``, and with an error that names the reason if too many captures of its tenant turn out
    ///     to be stuck; its process is then not touched.
    /// - Returns: nil if it is accepted; otherwise `completion` is not called, nothing happens to the process, and
    ///   ``droppedCount`` grows.
    @discardableResult
    public func capture(
        _ process: Int32, of tenant: Tenant, _ options: SnapshotOptions, completion: @escaping Completion
    ) -> CaptureRefusal? {
        enqueue(
            Job(process: process, tenant: tenant, options: options, others: nil) { result, _ in completion(result) })
    }

    /// Takes snapshots of all processes of an app once the captures before it are done, the main process first.
    ///
    /// If the main process is killed, the others are captured while it is stopped, just before the kill, which may kill
    /// them too; they continue meanwhile. Otherwise they are captured when the main process has continued. The main
    /// process's snapshot and kill do not depend on the others, for which there is a quarter of a second.
    ///
    /// - Parameters:
    ///   - process: the ID of the main process.
    ///   - tenant: whose processes they are.
    ///   - members: the processes of the app.
    ///   - preferred: those to capture first if there is not room for all.
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
        let others = TreeCapture(
            request, configuration.scheduling, treeSeats, copiers, limits: configuration.treeLimits)
        return enqueue(
            Job(process: process, tenant: tenant, options: options, others: others, completion: completion))
    }

    /// Begins to read the stacks of processes outside of an app, to which a wait of the app leads, beside all captures.
    ///
    /// None of them is stopped or interrupted, and no capture or kill waits for it. One look serves all apps whose waits lead
    /// to the same processes within a moment.
    ///
    /// - Parameters:
    ///   - processes: the processes.
    ///   - tenant: the app whose wait leads there. For what does not return, each user pays.
    public func look(at processes: [ProcessStat], for tenant: Tenant) -> TrailCapture {
        let subject = RecentLooks.Subject(processes)
        if let recent = recentLooks.withLock({ $0.look(at: subject, at: .now()) }) { return recent }
        let groups = Dictionary(grouping: processes) { ProcessStatus.read($0.id)?.user ?? tenant.user }
        let capture = TrailCapture(
            groups.map { user, processes in (Tenant(app: tenant.app, user: user), processes) },
            configuration.scheduling, trailSeats, copiers, time: configuration.trailTime)
        recentLooks.withLock { $0.keep(capture, at: subject, .now()) }
        return capture
    }

    private func enqueue(_ job: Job) -> CaptureRefusal? {
        let lost = copiers.refusal(of: job.tenant).map { CaptureRefusal.stuck($0) }
        let (refusal, isCalled) = state.withLock { state in
            let refusal = lost ?? state.queue.add(job, for: job.tenant, at: .now())
            if refusal != nil { state.droppedCount += 1 }
            return (refusal, refusal == nil && state.queue.callExtra())
        }
        if refusal == nil { work.signal() }
        if isCalled { startExtra() }
        return refusal
    }

    /// Starts a thread that takes captures as long as any wait.
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

    /// Why a capture of a tenant's process would be refused at this moment; nil if it would be accepted.
    public func refusal(of tenant: Tenant, at now: Instant) -> CaptureRefusal? {
        copiers.refusal(of: tenant).map { .stuck($0) } ?? state.withLock { $0.queue.refusal(of: tenant, at: now) }
    }

    /// How many captures wait for their turn.
    public var waitingCount: Int {
        state.withLock { $0.queue.waitingCount }
    }

    /// How many captures have been refused.
    public var droppedCount: Int {
        state.withLock { $0.droppedCount }
    }

    /// How many replaced workers have not returned yet.
    public var stuckWorkerCount: Int {
        state.withLock { $0.queue.stuckCount }
    }

    /// Hands the waiting captures to a new thread if the running one has taken longer than `limit`, and ends those of
    /// tenants with too many captures that do not return.
    ///
    /// The stuck capture still calls its completion once the kernel lets it continue. The completions of those that it
    /// ends are called on this thread.
    ///
    /// - Parameters:
    ///   - limit: how long a capture may take; a second is more than any capture takes unless it is stuck.
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
                let generation = state.withLock({ $0.queue.takeOver(from: late) })
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
            let runOthers: () -> Void = { [self] in job.others?.run(before: waitingCount) }
            arena.copying = copiers.copying(for: job.tenant)
            let (result, mustExit) = taking(arena, job.process, job.options, runOthers)
            arena.copying = nil
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
        // Others of its tenant may have been passed over because of it.
        if !isCurrent || areWaiting { work.signal() }
        return isCurrent
    }
}
