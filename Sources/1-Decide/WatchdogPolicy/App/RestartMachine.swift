// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Decides whether and when an app that has ended is launched again.
///
/// It lives as long as the app is supervised, across all its launches. It reads no clock and no random source: the same
/// calls with the same seed give the same decisions, even if the machine was saved in between.
///
/// Invariants: an app is not restarted if its death is not verified or its end was requested; within each
/// ``RestartSettings/limitInterval`` there are no more restarts than the limits allow, unless the limit is reported and
/// ``RestartSettings/Consequence/keepTrying`` allows more.
///
/// Isolation: a value; its holder serializes the calls.
public struct RestartMachine: Hashable, Sendable {
    /// Restarts per cause that are kept even if no limit needs them, for limits that a reload may add.
    private static let leastHistory = 128

    /// What the next watchdogd needs to know.
    public struct Saved: Hashable, Sendable, Codable {
        var restarts = 0
        var restartsByCause: [RestartSettings.Cause: Int] = [:]
        var reachedLimit: RestartSettings.ReachedLimit?
        /// The delay of the next restart, without jitter; nil if it is immediate.
        var backOff: Duration?
        var history: [RestartSettings.Cause: [Instant]] = [:]
        /// Why the next launch is a restart; nil if it is not.
        var pending: RestartSettings.Cause?
        var readySince: Instant?
        var jitterState: UInt64

        private enum CodingKeys: String, CodingKey {
            case restarts, restartsByCause, reachedLimit, backOff, history, pending, readySince, jitterState
        }
    }

    @Shared private var settings: RestartSettings
    /// What the next watchdogd needs to know.
    public private(set) var saved: Saved

    /// The number of restarts so far; launches on request do not count.
    public var restarts: Int { saved.restarts }
    /// The number of restarts so far by what had ended the app.
    public var restartsByCause: [RestartSettings.Cause: Int] { saved.restartsByCause }
    /// The limit that keeps the app down or delays its next launch; nil once it is launched.
    public var reachedLimit: RestartSettings.ReachedLimit? { saved.reachedLimit }

    /// Creates the machine of an app.
    ///
    /// - Parameters:
    ///   - settings: when to restart.
    ///   - seed: the start of the jitter sequence; each app needs its own.
    ///   - saved: the saved state; nil if the app was never launched.
    public init(settings: Shared<RestartSettings>, seed: UInt64, resuming saved: Saved? = nil) {
        _settings = settings
        self.saved = saved ?? Saved(jitterState: seed)
    }

    /// Applies new settings; the history still counts.
    public mutating func update(_ settings: Shared<RestartSettings>) {
        _settings = settings
    }

    /// Records a launch.
    public mutating func launched(at now: Instant) {
        saved.readySince = nil
        saved.reachedLimit = nil
        guard let cause = saved.pending else { return }
        saved.pending = nil
        saved.restarts += 1
        saved.restartsByCause[cause, default: 0] += 1
        let capacity = ([settings.limit] + settings.causeLimits.values).compactMap(\.count).max() ?? 0
        var instants = saved.history[cause] ?? []
        instants.removeAll { now - $0 >= settings.limitInterval }
        instants.removeFirst(max(0, instants.count + 1 - max(Self.leastHistory, capacity)))
        saved.history[cause] = instants + [now]
    }

    /// Records that the app is ready.
    public mutating func ready(at now: Instant) {
        saved.readySince = saved.readySince ?? now
    }

    /// Records an end and decides what follows.
    ///
    /// - Parameters:
    ///   - outcome: how the app ended.
    ///   - wasRequested: whether somebody requested the end, even if the app was killed before it could comply.
    ///   - causedByMemory: whether the kernel killed it because memory was exhausted.
    ///   - now: when it ended.
    public mutating func ended(
        _ outcome: Outcome, wasRequested: Bool = false, causedByMemory: Bool, at now: Instant
    ) -> RestartDecision {
        let wasReady = saved.readySince != nil
        if let readySince = saved.readySince, now - readySince >= settings.healthyTime { saved.backOff = nil }
        saved.readySince = nil
        saved.pending = nil
        guard outcome.isDeathVerified else { return .stay(.unkillable) }
        guard !wasRequested, !outcome.cause.isRequest else { return .stay(.requested) }
        guard settings.policy.restarts(after: outcome) else { return .stay(.policy) }
        let cause = RestartSettings.Cause(of: outcome, wasReady: wasReady, byMemory: causedByMemory)
        let next = now + jittered(nextWait())
        saved.reachedLimit = limitReached(for: cause, at: next)
        guard reachedLimit != nil else {
            saved.pending = cause
            return .restart(at: next, cause: cause)
        }
        switch settings.consequence {
        case .stop:
            return .limitReached(cause, next: nil)
        case .keepTrying:
            saved.pending = cause
            saved.backOff = settings.maximumDelay
            return .limitReached(cause, next: now + jittered(settings.maximumDelay))
        }
    }

    /// Resets delays and limits, for a launch on request.
    public mutating func reset() {
        saved.backOff = nil
        saved.history = [:]
        saved.pending = nil
        saved.reachedLimit = nil
    }

    // MARK: - Delays

    /// The delay of this restart; the next one will be longer.
    private mutating func nextWait() -> Duration {
        guard let wait = saved.backOff else {
            saved.backOff = settings.delay
            return .zero
        }
        let longest = settings.maximumDelay
        let grown = Double(wait.nanoseconds) * settings.factor
        saved.backOff = grown < Double(longest.nanoseconds) ? .nanoseconds(Int64(grown)) : longest
        return min(wait, longest)
    }

    /// Up to a tenth shorter or longer, but never more than the maximum.
    private mutating func jittered(_ wait: Duration) -> Duration {
        let tenth = wait.nanoseconds / 10
        guard tenth > 0 else { return wait }
        let range = UInt64(tenth) * 2 + 1
        let moved = wait + .nanoseconds(Int64(nextRandom() % range) - tenth)
        return min(moved, settings.maximumDelay + settings.maximumDelay - moved)
    }

    /// SplitMix64.
    private mutating func nextRandom() -> UInt64 {
        saved.jitterState &+= 0x9e37_79b9_7f4a_7c15
        var mixed = saved.jitterState
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
            sum + (saved.history[cause] ?? []).count { next - $0 < settings.limitInterval }
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

/// What follows the end of an app, as decided by a ``RestartMachine``.
public enum RestartDecision: Hashable, Sendable {
    /// Why an app stays down.
    public enum StayReason: String, Hashable, Sendable, CaseIterable {
        /// Somebody requested the end.
        case requested
        /// ``RestartSettings/policy`` allows no restart after this kind of end.
        case policy
        /// Some of its processes may still be alive, and the app must never run twice.
        case unkillable
    }

    /// It is launched again at this time.
    case restart(at: Instant, cause: RestartSettings.Cause)
    /// It stays down.
    case stay(StayReason)
    /// A limit was reached; `next` is when it is launched anyway, nil if it stays down until somebody launches it.
    case limitReached(RestartSettings.Cause, next: Instant?)
}
