// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

/// Drives one app's machine through a sequence of instants.
struct AppLife {
    static let first = LaunchID("first")
    static let second = LaunchID("second")
    static let crash = Outcome(
        cause: .exited, status: .signaled(signal: 11, coreDumped: false), isDeathVerified: true)

    private(set) var machine: AppMachine
    private(set) var now = Instant.origin

    init(
        _ standing: AppStanding = .enabled, policy: RestartSettings.Policy = .always,
        consequence: RestartSettings.Consequence = .stop, resuming saved: SavedApp? = nil
    ) {
        machine = AppMachine(
            standing, restart: Self.settings(policy, consequence), seed: 1, resuming: saved)
    }

    static func settings(
        _ policy: RestartSettings.Policy = .always, _ consequence: RestartSettings.Consequence = .stop
    ) -> Shared<RestartSettings> {
        Shared(wrappedValue: .with { ($0.policy, $0.consequence, $0.limit) = (policy, consequence, .count(3)) })
    }

    /// An app whose first launch runs.
    static func live(_ standing: AppStanding = .enabled, policy: RestartSettings.Policy = .always) -> AppLife {
        var life = AppLife(standing, policy: policy)
        _ = life.tell(.begun)
        if standing == .disabled { _ = life.tell(.launchRequested(AppWaiter(id: 99, waits: false))) }
        _ = life.tell(.created(first, hasPreparations: false))
        _ = life.tell(.launched(first, mayBeSilent: false))
        _ = life.tell(.ready(first))
        return life
    }

    /// An app whose preparations run.
    static func preparing() -> AppLife {
        var life = AppLife()
        _ = life.tell(.begun)
        _ = life.tell(.created(first, hasPreparations: true))
        return life
    }

    /// An app whose first launch survives SIGKILL.
    static func unkillable(hasPendingReports: Bool = false) -> AppLife {
        var life = live()
        _ = life.tell(.ended(first, .init(crash.unverified, hasPendingReports: hasPendingReports, reason: "x")))
        return life
    }

    mutating func tell(_ event: AppEvent, after delay: Duration = .zero) -> [AppEffect] {
        now = now + delay
        return machine.handle(event, at: now)
    }

    mutating func crash(_ launch: LaunchID = first, hasPendingReports: Bool = false) -> [AppEffect] {
        tell(.ended(launch, .init(Self.crash, hasPendingReports: hasPendingReports, reason: "crashed")))
    }

    /// The app under the next watchdogd, which resumes from the saved state.
    func next(_ standing: AppStanding = .enabled) -> AppLife {
        var life = AppLife(standing, resuming: machine.saved)
        life.now = now
        return life
    }
}

extension Outcome {
    var unverified: Outcome { Outcome(cause: cause, status: status, isDeathVerified: false) }
}

extension [AppEffect] {
    /// The effects without saves and published notices.
    var deeds: [AppEffect] {
        filter { effect in
            switch effect {
            case .save, .saveSoon, .publish: false
            default: true
            }
        }
    }
}
