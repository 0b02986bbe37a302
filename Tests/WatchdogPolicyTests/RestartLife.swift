// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing
import WatchdogBase
import WatchdogPolicy

/// The ways in which an app exits unrequested.
enum RestartEnd: Sendable, Hashable {
    case exit(Int32)
    case signal(Int32)
    case lost
    case spawnFailure
    case watchdog
    case memory

    static let all: [RestartEnd] = [.exit(0), .exit(1), .signal(11), .lost, .spawnFailure, .watchdog, .memory]

    func outcome(isVerified: Bool) -> Outcome {
        let (cause, status): (Outcome.Cause, WatchdogBase.ExitStatus?) =
            switch self {
            case .exit(let code): (.exited, .exited(code: code))
            case .signal(let signal): (.exited, .signaled(signal: signal, coreDumped: false))
            case .lost: (.exited, .unknown)
            case .spawnFailure: (.spawnFailed, nil)
            case .watchdog: (.watchdog(Self.incident), .signaled(signal: 9, coreDumped: false))
            case .memory: (.exited, .signaled(signal: 9, coreDumped: false))
            }
        return Outcome(cause: cause, status: status, isDeathVerified: isVerified)
    }

    private static let incident: Incident = {
        var life = Timeline.pinging()
        life.run(to: .seconds(11))
        return life.incidents[0]
    }()
}

/// A restart decision after one exit.
struct RestartAnswer: Equatable {
    let decision: RestartDecision
    /// The delay before the next launch; nil if there is no restart.
    let wait: Duration?

    var cause: RestartSettings.Cause? {
        switch decision {
        case .restart(_, let cause), .limitReached(let cause, _): cause
        case .stay: nil
        }
    }
}

/// An app that fails repeatedly, with each restart carried out when it is due.
struct RestartLife {
    private(set) var machine: RestartMachine
    private(set) var now = Instant.origin
    private var next: Instant?
    private var settings: Shared<RestartSettings>

    init(_ settings: RestartSettings, seed: UInt64 = 0) {
        self.settings = Shared(wrappedValue: settings)
        machine = RestartMachine(settings: self.settings, seed: seed)
    }

    mutating func fail(launching: Duration = .milliseconds(5), readyFor: Duration? = .zero) -> RestartAnswer {
        end(.signal(11), launching: launching, readyFor: readyFor)
    }

    /// Launches the app when a restart is due, or immediately if none is.
    mutating func launch() {
        now = max(now, next ?? now)
        next = nil
        machine.launched(at: now)
    }

    /// Runs and ends one launch; `readyFor` is nil if it never becomes ready.
    mutating func end(
        _ end: RestartEnd, launching: Duration = .milliseconds(5), readyFor: Duration?, wasRequested: Bool = false,
        isVerified: Bool = true
    ) -> RestartAnswer {
        launch()
        now = now + launching
        if let readyFor {
            machine.ready(at: now)
            now = now + readyFor
        }
        let decision = machine.ended(
            end.outcome(isVerified: isVerified), wasRequested: wasRequested, causedByMemory: end == .memory, at: now)
        next =
            switch decision {
            case .restart(let at, _): at
            case .limitReached(_, let at): at
            case .stay: nil
            }
        return RestartAnswer(decision: decision, wait: next.map { [now] in $0 - now })
    }

    mutating func reset() { machine.reset() }

    mutating func update(_ settings: RestartSettings) {
        self.settings = Shared(wrappedValue: settings)
        machine.update(self.settings)
    }

    mutating func saveAndRestore() {
        do {
            let saved = try JSONDecoder().decode(
                RestartMachine.Saved.self, from: JSONEncoder().encode(machine.saved))
            machine = RestartMachine(settings: settings, seed: 0, resuming: saved)
        } catch {
            Issue.record(error)
        }
    }
}

extension Instant {
    static let origin = Instant(nanoseconds: 1_000_000_000_000)
}

extension RestartSettings {
    static func with(_ change: (inout RestartSettings) -> Void) -> RestartSettings {
        RestartSettings().with(change)
    }

    func with(_ change: (inout RestartSettings) -> Void) -> RestartSettings {
        var copy = self
        change(&copy)
        return copy
    }

    static func random(_ generator: inout SeededGenerator) -> RestartSettings {
        .with {
            $0.policy = generator.pick(Policy.allCases)
            $0.delay = .milliseconds(generator.below(500))
            $0.factor = 1 + Double(generator.below(30)) / 10
            $0.maximumDelay = .milliseconds(500 + generator.below(60_000))
            $0.healthyTime = .milliseconds(1 + generator.below(15_000))
            $0.limit = generator.oneIn(4) ? .infinity : .count(1 + generator.below(20))
            for cause in Cause.allCases where generator.oneIn(3) {
                $0.causeLimits[cause] = generator.oneIn(4) ? .infinity : .count(1 + generator.below(8))
            }
            $0.limitInterval = .seconds(1 + generator.below(300))
            $0.consequence = generator.pick(Consequence.allCases)
        }
    }
}

extension RestartSettings {
    /// The number of restarts allowed for such an exit.
    func most(for cause: Cause) -> Int {
        if case .count(let number) = causeLimits[cause] ?? limit { number } else { .max }
    }

    /// The number of past restarts that share the limit of such an exit.
    func counted(_ restarts: [(at: Instant, cause: Cause)], with cause: Cause, at now: Instant) -> Int {
        restarts.count { restart in
            now - restart.at < limitInterval
                && (restart.cause == cause || (causeLimits[cause] == nil && causeLimits[restart.cause] == nil))
        }
    }
}

extension Duration {
    /// Whether the durations differ by at most the tenth that jitter may add or subtract.
    func isNear(_ other: Duration) -> Bool { self >= other * 9 / 10 && self <= other * 11 / 10 }
}
