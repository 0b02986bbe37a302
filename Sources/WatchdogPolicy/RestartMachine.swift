// SPDX-License-Identifier: Apache-2.0

/// Decides whether and when an app that has ended is launched again.
///
/// Lives as long as the app is supervised, over all its launches. It reads no clock and rolls no dice: the same calls with
/// the same seed give the same decisions, also by a machine that was encoded and decoded in between.
///
/// What holds always: no restart of an app whose death is not verified or was asked for; within each
/// ``RestartSettings/limitInterval`` no more restarts than the limits allow, unless it is told and
/// ``RestartSettings/Consequence/keepTrying`` wants it.
///
/// Isolation: a value; whoever holds it serialises the calls.
public struct RestartMachine: Hashable, Sendable, Codable {
    /// So many restarts of a cause are remembered even if no limit needs them, for limits that come with a reload.
    private static let leastHistory = 128

    /// The restarts so far; launches by hand do not count.
    public private(set) var restarts = 0
    /// The restarts so far by what had ended the app.
    public private(set) var restartsByCause: [RestartSettings.Cause: Int] = [:]

    /// The limit that keeps the app down, or its next launch away; nil of one that was launched since.
    public private(set) var reachedLimit: RestartSettings.ReachedLimit?

    @Shared private var settings: RestartSettings
    /// The wait of the next restart, without jitter; nil when the next is immediate.
    private var backOff: Duration?
    private var history: [RestartSettings.Cause: [Instant]] = [:]
    /// Why the next launch is a restart; nil when it is none.
    private var pending: RestartSettings.Cause?
    private var readySince: Instant?
    private var jitterState: UInt64

    /// Creates the machine of an app that was never launched.
    ///
    /// - Parameters:
    ///   - settings: when to restart.
    ///   - seed: where the jitter starts; each app needs its own.
    public init(settings: Shared<RestartSettings>, seed: UInt64) {
        _settings = settings
        self.jitterState = seed
    }

    /// The settings changed; what has happened still counts.
    public mutating func update(_ settings: Shared<RestartSettings>) {
        _settings = settings
    }

    /// A launch began.
    public mutating func launched(at now: Instant) {
        readySince = nil
        reachedLimit = nil
        guard let cause = pending else { return }
        pending = nil
        restarts += 1
        restartsByCause[cause, default: 0] += 1
        let capacity = ([settings.limit] + settings.causeLimits.values).compactMap(\.count).max() ?? 0
        var instants = history[cause] ?? []
        instants.removeAll { now - $0 >= settings.limitInterval }
        instants.removeFirst(max(0, instants.count + 1 - max(Self.leastHistory, capacity)))
        history[cause] = instants + [now]
    }

    /// The app became ready.
    public mutating func ready(at now: Instant) {
        readySince = readySince ?? now
    }

    /// The app ended.
    ///
    /// - Parameters:
    ///   - outcome: how.
    ///   - wasRequested: whether somebody asked for the end, also where the app was killed before it could obey.
    ///   - causedByMemory: whether the kernel killed it because memory was exhausted.
    ///   - now: when.
    public mutating func ended(
        _ outcome: Outcome, wasRequested: Bool = false, causedByMemory: Bool, at now: Instant
    ) -> RestartDecision {
        let wasReady = readySince != nil
        if let readySince, now - readySince >= settings.healthyTime { backOff = nil }
        readySince = nil
        pending = nil
        guard outcome.isDeathVerified else { return .stay(.unkillable) }
        guard !wasRequested, !outcome.cause.isRequest else { return .stay(.requested) }
        guard settings.policy.restarts(after: outcome) else { return .stay(.policy) }
        let cause = RestartSettings.Cause(of: outcome, wasReady: wasReady, byMemory: causedByMemory)
        let next = now + jittered(nextWait())
        reachedLimit = limitReached(for: cause, at: next)
        guard reachedLimit != nil else {
            pending = cause
            return .restart(at: next, cause: cause)
        }
        switch settings.consequence {
        case .stop:
            return .limitReached(cause, next: nil)
        case .keepTrying:
            pending = cause
            backOff = settings.maximumDelay
            return .limitReached(cause, next: now + jittered(settings.maximumDelay))
        }
    }

    /// Somebody launches the app by hand: delays and limits begin anew.
    public mutating func reset() {
        backOff = nil
        history = [:]
        pending = nil
        reachedLimit = nil
    }

    // MARK: - Delays

    /// The wait before this restart; the one after it will be longer.
    private mutating func nextWait() -> Duration {
        guard let wait = backOff else {
            backOff = settings.delay
            return .zero
        }
        let longest = settings.maximumDelay
        let grown = Double(wait.nanoseconds) * settings.factor
        backOff = grown < Double(longest.nanoseconds) ? .nanoseconds(Int64(grown)) : longest
        return min(wait, longest)
    }

    /// Up to a tenth shorter or longer, but not beyond the longest wait.
    private mutating func jittered(_ wait: Duration) -> Duration {
        let tenth = wait.nanoseconds / 10
        guard tenth > 0 else { return wait }
        let range = UInt64(tenth) * 2 + 1
        let moved = wait + .nanoseconds(Int64(nextRandom() % range) - tenth)
        return min(moved, settings.maximumDelay + settings.maximumDelay - moved)
    }

    /// SplitMix64.
    private mutating func nextRandom() -> UInt64 {
        jitterState &+= 0x9e37_79b9_7f4a_7c15
        var mixed = jitterState
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    // MARK: - Limits

    private func limitReached(for cause: RestartSettings.Cause, at next: Instant) -> RestartSettings.ReachedLimit? {
        let isOwn = settings.causeLimits[cause] != nil
        let causes = isOwn ? [cause] : settings.commonCauses
        guard let most = (settings.causeLimits[cause] ?? settings.limit).count else { return nil }
        let recent = causes.reduce(0) { sum, cause in
            sum + (history[cause] ?? []).count { next - $0 < settings.limitInterval }
        }
        guard recent >= most else { return nil }
        return RestartSettings.ReachedLimit(
            cause: isOwn ? cause : nil, count: most, interval: settings.limitInterval)
    }
}

extension RestartSettings {
    fileprivate var commonCauses: [Cause] { Cause.allCases.filter { causeLimits[$0] == nil } }
}

extension RestartSettings.Limit {
    fileprivate var count: Int? {
        switch self {
        case .count(let count): count
        case .infinity: nil
        }
    }
}

extension RestartSettings.Policy {
    fileprivate func restarts(after outcome: Outcome) -> Bool {
        switch self {
        case .always: true
        case .onFailure: outcome.cause.isWatchdog || outcome.status != .exited(code: 0)
        case .onWatchdog: outcome.cause.isWatchdog
        case .never: false
        }
    }
}

extension RestartSettings.Cause {
    fileprivate init(of outcome: Outcome, wasReady: Bool, byMemory: Bool) {
        switch outcome.cause {
        case .watchdog:
            self = wasReady ? .hang : .launch
        case .spawnFailed, .exited, .terminated, .killedOnRequest:
            if byMemory {
                self = .memory
            } else if !wasReady {
                self = .launch
            } else if case .signaled = outcome.status {
                self = .crash
            } else {
                self = .exit
            }
        }
    }
}

extension Outcome.Cause {
    fileprivate var isRequest: Bool {
        switch self {
        case .terminated, .killedOnRequest: true
        case .spawnFailed, .exited, .watchdog: false
        }
    }

    fileprivate var isWatchdog: Bool {
        if case .watchdog = self { true } else { false }
    }
}
