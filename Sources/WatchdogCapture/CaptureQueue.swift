// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Why a capture is not accepted.
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

/// Decides which capture is next, and whose captures are refused because earlier ones have not returned.
///
/// One worker has the turn, and a few others help it while captures wait. If the capture of one is late, another one takes
/// over; the first then counts against the app and the user of its capture until it returns. An app has one capture at a
/// time: two would stop the same threads.
struct CaptureQueue<Job> {
    /// How many replaced workers there may be.
    ///
    /// Each is a thread that may never end, with the memory of one capture.
    static var limits: StuckWaits.Limits { StuckWaits.Limits(app: 2, user: 4, all: 32) }
    /// How old a capture is when it counts as one that does not return.
    ///
    /// Until then the others of its app and user only wait: on a busy machine it may just be slow.
    static var patience: Duration { .seconds(1) }

    private struct Entry {
        let job: Job
        let tenant: Tenant
    }

    private let capacity: Int
    /// How many workers may have a capture.
    private let width: Int
    private var waiting: [Entry] = []
    /// The captures by the numbers of their workers.
    private var running: [Int: (tenant: Tenant, since: Instant)] = [:]
    /// The workers that may begin captures.
    private var workers: Set<Int> = [0]
    /// Those among them that end when nothing waits.
    private(set) var extras: Set<Int> = []
    private var calledExtras = 0
    private var stuck = StuckWaits()
    /// The stuck captures by the generations of their workers.
    private var replaced: [Int: Int] = [:]
    /// The number of the newest worker.
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

    /// Why a capture would not be accepted; nil if it would be.
    func refusal(of tenant: Tenant, at now: Instant) -> CaptureRefusal? {
        if isShutDown { return .shutDown }
        if let refusal = stuckRefusal(of: tenant, at: now) { return .stuck(refusal) }
        return waiting.count < capacity ? nil : .tooManyWaiting
    }

    private func stuckRefusal(of tenant: Tenant, at now: Instant) -> StuckWaits.Refusal? {
        let span = Instant(nanoseconds: .min)...(now - Self.patience)
        return stuck.refusal(of: tenant, within: Self.limits, begunIn: span)
    }

    /// Takes out the waiting captures that would not be accepted anymore.
    mutating func takeRefused(at now: Instant) -> [(job: Job, refusal: StuckWaits.Refusal)] {
        let judged = waiting.map { ($0, stuckRefusal(of: $0.tenant, at: now)) }
        waiting = judged.filter { $0.1 == nil }.map(\.0)
        return judged.compactMap { entry, refusal in refusal.map { (entry.job, $0) } }
    }

    /// Begins the next capture of a worker; nil if none may begin.
    ///
    /// Users without a stuck capture come first: the next one of another user probably gets stuck, too.
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

    /// Calls an extra worker; returns false if there are enough workers for what waits.
    mutating func callExtra() -> Bool {
        guard !running.isEmpty, workers.count + calledExtras < width, waiting.indices.contains(where: mayBegin) else {
            return false
        }
        calledExtras += 1
        return true
    }

    /// Takes back a call that nobody follows.
    mutating func cancelExtra() { calledExtras -= 1 }

    /// Makes the caller the extra worker that was called; nil if it is not needed anymore.
    mutating func join() -> Int? {
        calledExtras -= 1
        guard !isShutDown, waiting.indices.contains(where: mayBegin) else { return nil }
        generation += 1
        workers.insert(generation)
        extras.insert(generation)
        return generation
    }

    /// Ends an extra worker.
    mutating func leave(_ worker: Int) {
        guard extras.remove(worker) != nil else { return }
        workers.remove(worker)
    }

    /// The worker with the oldest capture that has taken longer than `limit`; nil if there is none, or if no further one
    /// may be replaced.
    func late(after limit: Duration, at now: Instant) -> Int? {
        guard stuck.count < Self.limits.all, let oldest = running.min(by: { $0.value.since < $1.value.since }),
            now - oldest.value.since > limit
        else { return nil }
        return oldest.key
    }

    /// Makes the caller a worker in the place of another one; nil if the late capture has ended in the meantime.
    mutating func takeOver(from late: Int) -> Int? {
        guard workers.contains(late), let capture = running.removeValue(forKey: late) else { return nil }
        replaced[late] = stuck.begin(for: capture.tenant, at: capture.since)
        workers.remove(late)
        generation += 1
        workers.insert(generation)
        if extras.remove(late) != nil { extras.insert(generation) }
        return generation
    }

    /// Ends the capture of a worker; returns false if another one has taken over in the meantime.
    mutating func finish(_ worker: Int) -> Bool {
        guard workers.contains(worker) else {
            if let number = replaced.removeValue(forKey: worker) { stuck.end(number) }
            return false
        }
        running[worker] = nil
        return true
    }

    /// Refuses all further captures; returns those that wait.
    mutating func shutDown() -> [Job] {
        isShutDown = true
        defer { waiting = [] }
        return waiting.map(\.job)
    }
}
