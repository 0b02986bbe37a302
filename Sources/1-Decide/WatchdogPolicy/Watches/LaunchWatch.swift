// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The launch, from the request for a process to its readiness.
struct LaunchWatch: Hashable, Sendable {
    private enum State: Hashable, Sendable {
        case none
        /// Requests to terminate are executed once there is a process.
        case spawning(requests: Int)
        /// The process is running; a readiness probe is in progress, or there are none.
        case waiting
        case probing(next: Instant)
        case over
    }

    /// The shortest time between readiness probes.
    private static let firstProbeStep = Duration.milliseconds(5)

    private var state = State.none
    /// When the process started to run.
    private(set) var startedAt: Instant?
    /// From `execve` to ready.
    private(set) var duration: Duration?
    /// What made it ready.
    private(set) var source: ReadinessSource?

    /// When the next readiness probe is due.
    var due: Instant? { if case .probing(let next) = state { next } else { nil } }

    var isSpawning: Bool { if case .spawning = state { true } else { false } }

    /// The history that most apps share, derived rather than recorded.
    var moments: [LifecycleRecord.Moment] {
        guard let startedAt else { return [] }
        let launching = LifecycleRecord.Moment(at: startedAt, state: .launching)
        guard let duration else { return [launching] }
        return [launching, LifecycleRecord.Moment(at: startedAt + duration, state: .foreground)]
    }

    /// How often the end was requested before there was a process.
    var requests: Int { if case .spawning(let requests) = state { requests } else { 0 } }

    /// Returns false if the process is already being started.
    mutating func begin() -> Bool {
        guard case .none = state else { return false }
        state = .spawning(requests: 0)
        return true
    }

    /// Returns false if no process is being started.
    mutating func requestTermination() -> Bool {
        guard case .spawning(let requests) = state else { return false }
        state = .spawning(requests: min(2, requests + 1))
        return true
    }

    mutating func spawned(_ turn: inout Turn) {
        state = .waiting
        startedAt = turn.now
        turn.launch = self
    }

    /// Records an adopted process, whose launch was not seen.
    mutating func adopted(at now: Instant) {
        state = .over
        startedAt = now
    }

    /// Schedules the first readiness probe, as soon as the process runs.
    mutating func beginProbes(_ turn: Turn) { state = .probing(next: turn.now) }

    /// Schedules the next readiness probe.
    ///
    /// Each step doubles the age of the launch, up to the interval, so that a fast launch is measured precisely and a
    /// slow one costs little: 0, 5, 10, 20, 40, 80 ms and so on.
    mutating func scheduleProbe(_ turn: Turn) {
        let age = turn.now - (startedAt ?? turn.now)
        state = .probing(next: turn.now + min(turn.spec.probeInterval, max(Self.firstProbeStep, age)))
    }

    mutating func probeDue(_ turn: inout Turn) {
        guard let due, turn.now >= due else { return }
        state = .waiting
        turn.perform(.probe)
    }

    /// Repeats the readiness probe that the previous supervisor may have lost.
    func returned(_ turn: inout Turn) {
        if turn.spec.readiness.isProbed, due == nil { turn.perform(.probe) }
    }

    mutating func ready(_ source: ReadinessSource, _ turn: inout Turn) {
        let duration = turn.now - (startedAt ?? turn.now)
        state = .over
        self.duration = duration
        self.source = source
        turn.launch = self
        turn.announce(.ready(source, after: duration))
    }

    mutating func end() { state = .over }

    /// Whether this source makes an app with this setting ready.
    static func admits(_ source: ReadinessSource, _ readiness: Readiness) -> Bool {
        switch (readiness, source) {
        case (.automatic, _), (.channel, .channel), (.notify, .notify): true
        case (.listening, .probe), (.command, .probe), (.none, .exec): true
        case (.channel, _), (.notify, _), (.listening, _), (.command, _), (.probe, _), (.none, _): false
        }
    }
}

extension LaunchWatch {
    init(_ saved: SavedLaunch) {
        startedAt = saved.startedAt
        duration = saved.duration
        source = saved.source
        state =
            switch saved.state {
            case .none: .none
            case .spawning(let requests): .spawning(requests: requests)
            case .waiting: .waiting
            case .probing(let next): .probing(next: next)
            case .over: .over
            }
    }

    var saved: SavedLaunch {
        let state: SavedLaunch.State =
            switch state {
            case .none: .none
            case .spawning(let requests): .spawning(requests: requests)
            case .waiting: .waiting
            case .probing(let next): .probing(next: next)
            case .over: .over
            }
        return SavedLaunch(state: state, startedAt: startedAt, duration: duration, source: source)
    }
}
