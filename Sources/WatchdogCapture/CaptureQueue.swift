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
/// One worker has the turn. If its capture is late, another one takes over; the first then counts against the app and the
/// user of its capture until it returns.
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
    private var waiting: [Entry] = []
    private var running: (tenant: Tenant, since: Instant)?
    private var stuck = StuckWaits()
    /// The stuck captures by the generations of their workers.
    private var replaced: [Int: Int] = [:]
    /// The number of the worker that has the turn; replaced workers have lower numbers.
    private(set) var generation = 0
    private(set) var isShutDown = false

    init(capacity: Int) { self.capacity = capacity }

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

    /// Begins the next capture; nil if none may begin.
    ///
    /// Users without a stuck capture come first: the next one of another user probably gets stuck, too.
    mutating func next(at now: Instant) -> Job? {
        let admitted = waiting.indices.filter { stuck.refusal(of: waiting[$0].tenant, within: Self.limits) == nil }
        guard let index = admitted.min(by: { rank(of: $0) < rank(of: $1) }) else { return nil }
        let entry = waiting.remove(at: index)
        running = (entry.tenant, now)
        return entry.job
    }

    private func rank(of index: Int) -> (stuck: Int, place: Int) {
        (stuck.count(of: waiting[index].tenant.user), index)
    }

    /// The generation of the worker whose capture has taken longer than `limit`; nil if there is none, or if no further
    /// one may be replaced.
    func late(after limit: Duration, at now: Instant) -> Int? {
        guard let running, now - running.since > limit, stuck.count < Self.limits.all else { return nil }
        return generation
    }

    /// Makes the caller the worker that has the turn; nil if the late capture has ended in the meantime.
    mutating func takeOver(from late: Int) -> Int? {
        guard generation == late, let running else { return nil }
        replaced[generation] = stuck.begin(for: running.tenant, at: running.since)
        self.running = nil
        generation += 1
        return generation
    }

    /// Ends the capture of a worker; returns false if another one has taken over in the meantime.
    mutating func finish(_ generation: Int) -> Bool {
        guard generation == self.generation else {
            if let number = replaced.removeValue(forKey: generation) { stuck.end(number) }
            return false
        }
        running = nil
        return true
    }

    /// Refuses all further captures; returns those that wait.
    mutating func shutDown() -> [Job] {
        isShutDown = true
        defer { waiting = [] }
        return waiting.map(\.job)
    }
}
