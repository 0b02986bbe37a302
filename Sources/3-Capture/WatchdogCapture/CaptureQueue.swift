// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The reason why a capture is refused.
public enum CaptureRefusal: Hashable, Sendable, CustomStringConvertible {
    /// The queue is full.
    case tooManyWaiting
    /// Too many earlier captures have not returned.
    case stuck(StuckWaits.Refusal)
    /// The capture thread has been shut down.
    case shutDown

    /// The reason: "4 earlier captures of user 1000's processes have not returned".
    public var description: String {
        switch self {
        case .tooManyWaiting: "too many captures are waiting"
        case .stuck(let refusal): refusal.words("capture")
        case .shutDown: "captures have ended"
        }
    }
}

/// Schedules captures, and refuses those of apps and users whose earlier captures have not returned.
///
/// One main worker runs captures, and a few extra ones help while captures wait. If a capture is late, a new worker
/// replaces its worker, which then counts against the app and the user of its capture until it returns. An app has one
/// capture at a time: two would stop the same threads.
struct CaptureQueue<Job> {
    /// The maximum number of replaced workers.
    ///
    /// Each is a thread that may never end, with the memory of one capture.
    static var limits: StuckWaits.Limits { StuckWaits.Limits(app: 2, user: 4, all: 32) }
    /// The age at which a capture counts as stuck.
    ///
    /// Until then, other captures of its app and user only wait: on a busy machine it may just be slow.
    static var patience: Duration { .seconds(1) }

    private struct Entry {
        let job: Job
        let tenant: Tenant
    }

    private let capacity: Int
    /// The maximum number of workers with a capture.
    private let width: Int
    private var waiting: [Entry] = []
    /// The running captures by worker number.
    private var running: [Int: (tenant: Tenant, since: Instant)] = [:]
    /// The workers that may begin captures.
    private var workers: Set<Int> = [0]
    /// Those of them that end when no capture waits.
    private(set) var extras: Set<Int> = []
    private var calledExtras = 0
    private var stuck = StuckWaits()
    /// The number of each stuck capture, by the generation of its worker.
    private var replaced: [Int: Int] = [:]
    private(set) var generation = 0
    private(set) var isShutDown = false

    init(capacity: Int, width: Int = 1) {
        self.capacity = capacity
        self.width = width
    }

    var waitingCount: Int { waiting.count }
    var stuckCount: Int { stuck.count }

    /// Adds a capture; nil if it is accepted.
    mutating func add(_ job: Job, for tenant: Tenant, at now: Instant) -> CaptureRefusal? {
        if let refusal = refusal(of: tenant, at: now) { return refusal }
        waiting.append(Entry(job: job, tenant: tenant))
        return nil
    }

    /// The reason why a capture would be refused; nil if it would be accepted.
    func refusal(of tenant: Tenant, at now: Instant) -> CaptureRefusal? {
        if isShutDown { return .shutDown }
        if let refusal = stuckRefusal(of: tenant, at: now) { return .stuck(refusal) }
        return waiting.count < capacity ? nil : .tooManyWaiting
    }

    private func stuckRefusal(of tenant: Tenant, at now: Instant) -> StuckWaits.Refusal? {
        let span = Instant(nanoseconds: .min)...(now - Self.patience)
        return stuck.refusal(of: tenant, within: Self.limits, begunIn: span)
    }

    /// Removes and returns the waiting captures that would now be refused.
    mutating func takeRefused(at now: Instant) -> [(job: Job, refusal: StuckWaits.Refusal)] {
        let judged = waiting.map { ($0, stuckRefusal(of: $0.tenant, at: now)) }
        waiting = judged.filter { $0.1 == nil }.map(\.0)
        return judged.compactMap { entry, refusal in refusal.map { (entry.job, $0) } }
    }

    /// Starts the next capture on a worker; nil if none can start.
    ///
    /// Users without a stuck capture come first: the next capture of the others is likely to get stuck, too.
    mutating func next(for worker: Int, at now: Instant) -> Job? {
        guard workers.contains(worker),
            let index = waiting.indices.filter(mayBegin).min(by: { rank(of: $0) < rank(of: $1) })
        else { return nil }
        let entry = waiting.remove(at: index)
        running[worker] = (entry.tenant, now)
        return entry.job
    }

    private func mayBegin(_ index: Int) -> Bool {
        let tenant = waiting[index].tenant
        return stuck.refusal(of: tenant, within: Self.limits) == nil
            && !running.values.contains { $0.tenant == tenant }
    }

    private func rank(of index: Int) -> (stuck: Int, place: Int) {
        (stuck.count(of: waiting[index].tenant.user), index)
    }

    /// Requests an extra worker; returns false if there are enough workers for the waiting captures.
    mutating func callExtra() -> Bool {
        guard !running.isEmpty, workers.count + calledExtras < width, waiting.indices.contains(where: mayBegin) else {
            return false
        }
        calledExtras += 1
        return true
    }

    /// Withdraws the request for an extra worker that could not be started.
    mutating func cancelExtra() { calledExtras -= 1 }

    /// Registers the caller as the requested extra worker; nil if it is no longer needed.
    mutating func join() -> Int? {
        calledExtras -= 1
        guard !isShutDown, waiting.indices.contains(where: mayBegin) else { return nil }
        generation += 1
        workers.insert(generation)
        extras.insert(generation)
        return generation
    }

    mutating func leave(_ worker: Int) {
        guard extras.remove(worker) != nil else { return }
        workers.remove(worker)
    }

    /// The worker whose capture is the oldest of those that have taken longer than `limit`; nil without one, or if the
    /// limit of replaced workers is reached.
    func late(after limit: Duration, at now: Instant) -> Int? {
        guard stuck.count < Self.limits.all, let oldest = running.min(by: { $0.value.since < $1.value.since }),
            now - oldest.value.since > limit
        else { return nil }
        return oldest.key
    }

    /// Registers the caller as the replacement of a worker; nil if the late capture has ended in the meantime.
    mutating func replace(_ late: Int) -> Int? {
        guard workers.contains(late), let capture = running.removeValue(forKey: late) else { return nil }
        replaced[late] = stuck.begin(for: capture.tenant, at: capture.since)
        workers.remove(late)
        generation += 1
        workers.insert(generation)
        if extras.remove(late) != nil { extras.insert(generation) }
        return generation
    }

    /// Ends the capture of a worker; returns false if the worker was replaced in the meantime.
    mutating func finish(_ worker: Int) -> Bool {
        guard workers.contains(worker) else {
            if let number = replaced.removeValue(forKey: worker) { stuck.end(number) }
            return false
        }
        running[worker] = nil
        return true
    }

    /// Refuses all further captures; returns the waiting ones.
    mutating func shutDown() -> [Job] {
        isShutDown = true
        defer { waiting = [] }
        return waiting.map(\.job)
    }
}
