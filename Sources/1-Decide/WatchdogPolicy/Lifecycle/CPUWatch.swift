// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A limit on CPU time, for a launch into the background or a stay there.
struct CPUWatch: Hashable, Sendable {
    /// The minimum time between two measurements.
    private static let shortestInterval: Duration = .milliseconds(10)

    let isForLaunch: Bool
    let limit: Duration
    /// The CPU time used when the limit started to count.
    private var start: Duration?
    private(set) var next: Instant

    static func launch(_ turn: Turn) -> CPUWatch {
        let limit = turn.spec.lifecycle.launchCPUTime
        var watch = CPUWatch(isForLaunch: true, limit: limit, start: .zero, next: turn.now)
        watch.schedule(left: limit, turn)
        return watch
    }

    /// Nil if there is no limit.
    static func stay(_ turn: Turn) -> CPUWatch? {
        guard let limit = turn.spec.lifecycle.backgroundCPUTime else { return nil }
        return CPUWatch(
            isForLaunch: false, limit: limit, start: nil, next: turn.now + max(shortestInterval, limit))
    }

    private init(isForLaunch: Bool, limit: Duration, start: Duration?, next: Instant) {
        self.isForLaunch = isForLaunch
        self.limit = limit
        self.start = start
        self.next = next
    }

    /// Schedules the next measurement: the limit cannot be reached sooner than by all CPUs at once.
    private mutating func schedule(left: Duration, _ turn: Turn) {
        next = turn.now + max(Self.shortestInterval, left / max(1, turn.spec.lifecycle.processorCount))
    }

    mutating func due(_ turn: inout Turn) {
        guard turn.now >= next else { return }
        // The answer determines when the next measurement makes sense.
        next = turn.now + max(Self.shortestInterval, limit)
        turn.perform(.measure)
    }

    /// Returns the CPU time used, if it has reached the limit.
    mutating func measured(_ use: ResourceUse, _ turn: Turn) -> Duration? {
        let start = start ?? use.cpuTime
        self.start = start
        let used = max(.zero, use.cpuTime - start)
        guard used < limit else { return used }
        schedule(left: limit - used, turn)
        return nil
    }
}

extension CPUWatch {
    init(_ saved: SavedCPUWatch) {
        self.init(isForLaunch: saved.isForLaunch, limit: saved.limit, start: saved.start, next: saved.next)
    }

    var saved: SavedCPUWatch { SavedCPUWatch(isForLaunch: isForLaunch, limit: limit, start: start, next: next) }
}

/// What an app has used since its launch.
public struct ResourceUse: Hashable, Sendable, Codable {
    /// CPU time of all its processes.
    public var cpuTime: Duration
    /// Time in which its main thread was runnable without a CPU.
    public var runDelay: Duration

    private enum CodingKeys: String, CodingKey { case cpuTime, runDelay }

    /// Creates a measurement.
    public init(cpuTime: Duration, runDelay: Duration = .zero) {
        self.cpuTime = cpuTime
        self.runDelay = runDelay
    }
}
