// SPDX-License-Identifier: Apache-2.0

/// The part of an ``AppMachine`` that knows foreground, background and suspension.
struct Lifecycle: Hashable, Sendable, Codable {
    enum Goal: Hashable, Sendable, Codable {
        case foreground
        case background
        case suspended
    }

    /// Something that the main loop was sent and has to answer, in this order.
    struct Obligation: Hashable, Sendable, Codable {
        enum Kind: Hashable, Sendable, Codable {
            case state(Visibility, id: UInt64)
            case event(name: String, id: UInt64)
        }

        let kind: Kind
        let sentAt: Instant
        let allowance: Duration
    }

    enum Freeze: Hashable, Sendable, Codable {
        case asked(since: Instant, backstop: Instant)
        /// `hasReport` is false while the answer to the request is still missing.
        case frozen(since: Instant, hasReport: Bool)
    }

    /// One stay in the background.
    struct Stay: Hashable, Sendable, Codable {
        let since: Instant
        /// Tasks that are open then are a reason to kill.
        var end: Instant
        var idleSince: Instant
        var isExpiring = false
        /// What its end calls for has been decided.
        var isOver = false
        var credit: Duration?
        var start: ResourceUse?
        var latest: ResourceUse?

        /// For how long the main thread waited for a CPU meanwhile, as far as it is known.
        var runDelay: Duration {
            guard let start, let latest else { return .zero }
            return max(.zero, latest.runDelay - start.runDelay)
        }
    }

    /// A limit on CPU time.
    struct CPUWatch: Hashable, Sendable, Codable {
        let isForLaunch: Bool
        let limit: Duration
        var start: Duration?
        var nextLook: Instant
    }

    /// What it is as long as nothing has happened.
    static let unchanged = Lifecycle()
    /// Events that may wait for the app, sent or not.
    static let eventLimit = 64
    /// How long a request to freeze may take before it counts as carried out: a process that waits for a device cannot be
    /// frozen.
    static let freezeBudget: Duration = .seconds(1)
    /// The shortest time between two looks at the CPU time that is used.
    static let shortestLook: Duration = .milliseconds(10)

    var visibility = Visibility.foreground
    var goal = Goal.foreground
    /// When the latest request came that may resume the app.
    var askedAt: Instant?
    var obligations: [Obligation] = []
    var waitingEvents: [LifecycleRequest] = []
    var statesAsked: UInt64 = 0
    var statesDone: UInt64 = 0
    var eventsSent: UInt64 = 0
    var freeze: Freeze?
    /// Locked files that are still to be judged.
    var foundLocks: [LockedFile] = []
    var stay: Stay?
    var cpu: CPUWatch?
    /// Since when there are too many tasks; nil when that has been decided.
    var floodedAt: Instant?
    var isFloodDecided = false
    /// When the next task becomes old, and which tasks are.
    var taskWarning: Instant?
    var warnedTasks: Set<UInt64> = []
    /// When the resume began that is not answered yet.
    var resumeStart: Instant?
    var record = LifecycleRecord()

    var isMoving: Bool {
        obligations.contains { if case .state = $0.kind { true } else { false } }
    }

    var isFrozen: Bool {
        if case .frozen = freeze { return true }
        return false
    }

    /// Nothing but the past counts any more.
    mutating func end() {
        obligations = []
        waitingEvents = []
        freeze = nil
        foundLocks = []
        stay = nil
        cpu = nil
        floodedAt = nil
        taskWarning = nil
        resumeStart = nil
    }
}
