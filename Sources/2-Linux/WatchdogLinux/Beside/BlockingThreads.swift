// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Threads for calls that may never return.
///
/// Calls belong to lanes, such as one per app. A lane has few threads, so a party that makes one lane's calls hang
/// holds up no other lane. Lanes belong to owners, such as the users of apps: an owner takes a thread only as long as
/// more are left than it has, so an owner of many lanes holds up no other owner. Threads start when there is work and
/// exit when there is none, except for two that stay: each launch makes two calls, and starting a thread takes the
/// caller longer than waking one.
///
/// Isolation: may be used from any thread; nothing here waits for a call.
final class BlockingThreads: Sendable {
    /// The bounds of a pool.
    struct Limits: Sendable {
        /// The maximum number of threads, including stuck ones.
        var threads = 64
        /// The maximum number of threads in one lane.
        var threadsPerLane = 2
        /// How many threads stay when there is no work.
        var idleThreads = 2
        /// The maximum number of running and waiting calls in one lane.
        var callsPerLane = 16
    }

    fileprivate struct Lane {
        /// Nil for a lane that no limit of an owner concerns.
        var owner: String?
        var waiting: [@Sendable () -> Void] = []
        var running = 0
    }

    fileprivate struct State {
        var lanes: [Int: Lane] = [:]
        /// Lanes with waiting calls, in the order in which they get a thread.
        var turns: [Int] = []
        /// The calls that run, of each owner and in all.
        var runningByOwner: [String: Int] = [:]
        var running = 0
        var threads = 0
        var idle = 0
    }

    private let limits: Limits
    private let state = Locked(State())
    private let wakeUp = PosixSemaphore()

    init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether a lane accepts another call.
    func hasRoom(in lane: Int) -> Bool {
        state.withLock { $0.hasRoom(in: lane, limits) }
    }

    /// The number of running and waiting calls.
    var callCount: Int {
        state.withLock { $0.lanes.values.reduce(0) { $0 + $1.running + $1.waiting.count } }
    }

    /// Runs a call as soon as its lane and the pool have a thread for it.
    ///
    /// - Parameters:
    ///   - owner: who can make the lane's calls hang; nil if that is nobody in particular.
    ///   - isRefusable: whether the call may be refused when the lane is full.
    /// - Returns: false when it was refused; then the call never runs.
    @discardableResult
    func run(
        in lane: Int, of owner: String? = nil, isRefusable: Bool = true, _ call: @escaping @Sendable () -> Void
    ) -> Bool {
        enum Need { case nothing, wakeUp, thread, refused }
        let need: Need = state.withLock { state in
            guard !isRefusable || state.hasRoom(in: lane, limits) else { return .refused }
            state.lanes[lane, default: Lane(owner: owner)].waiting.append(call)
            state.turns.append(lane)
            if state.idle > 0 {
                state.idle -= 1
                return .wakeUp
            }
            guard state.threads < limits.threads, state.hasWork(limits) else { return .nothing }
            state.threads += 1
            return .thread
        }
        switch need {
        case .nothing: return true
        case .refused: return false
        case .wakeUp: wakeUp.signal()
        case .thread:
            let thread = try? WorkerThread.start { [self] in serve() }
            thread?.detach()
            // The call stays queued until another thread is free or is started for a later call.
            if thread == nil { state.withLock { $0.threads -= 1 } }
        }
        return true
    }

    private func serve() {
        var lane: Int?
        while true {
            let (next, isIdle): ((lane: Int, call: @Sendable () -> Void)?, Bool) = state.withLock { state in
                if let lane { state.finish(lane) }
                if let next = state.takeNext(limits) { return (next, false) }
                guard state.idle < limits.idleThreads else {
                    state.threads -= 1
                    return (nil, false)
                }
                state.idle += 1
                return (nil, true)
            }
            lane = next?.lane
            if let next { next.call() } else if isIdle { wakeUp.wait() } else { return }
        }
    }
}

extension BlockingThreads.State {
    fileprivate func hasRoom(in lane: Int, _ limits: BlockingThreads.Limits) -> Bool {
        lanes[lane].map { $0.running + $0.waiting.count < limits.callsPerLane } ?? true
    }

    private func isReady(_ lane: Int, _ limits: BlockingThreads.Limits) -> Bool {
        guard let lane = lanes[lane], !lane.waiting.isEmpty, lane.running < limits.threadsPerLane else { return false }
        guard let owner = lane.owner else { return true }
        // Each owner leaves as many threads to others as it takes, however many lanes it has.
        return runningByOwner[owner, default: 0] < limits.threads - running
    }

    fileprivate func hasWork(_ limits: BlockingThreads.Limits) -> Bool {
        turns.contains { isReady($0, limits) }
    }

    fileprivate mutating func takeNext(
        _ limits: BlockingThreads.Limits
    ) -> (lane: Int, call: @Sendable () -> Void)? {
        guard let index = turns.firstIndex(where: { isReady($0, limits) }), var lane = lanes[turns[index]] else {
            return nil
        }
        let number = turns.remove(at: index)
        let call = lane.waiting.removeFirst()
        lane.running += 1
        lanes[number] = lane
        count(1, of: lane.owner)
        return (number, call)
    }

    private mutating func count(_ change: Int, of owner: String?) {
        running += change
        guard let owner else { return }
        let number = runningByOwner[owner, default: 0] + change
        runningByOwner[owner] = number == 0 ? nil : number
    }

    fileprivate mutating func finish(_ lane: Int) {
        lanes[lane]?.running -= 1
        count(-1, of: lanes[lane]?.owner)
        if let rest = lanes[lane], rest.running == 0, rest.waiting.isEmpty {
            lanes[lane] = nil
            lanes.releaseStorageIfEmpty()
        }
    }
}
