// SPDX-License-Identifier: Apache-2.0

import TestSupport
import WatchdogBase
import WatchdogPolicy

/// An app in the world of a ``SimulatedDaemon``: its file, its saved state, and its pending promises.
struct SimulatedApp {
    let spec: AppSpec
    let hasPreparations: Bool
    var settings: RestartSettings
    /// The content of its file.
    var standing = AppStanding.enabled
    var saved: SavedApp?
    /// The running daemon's state of the app; nil if the daemon does not know it.
    var brain: SimulatedBrain?
    var promise = Promise()
    /// The part that survives the daemon.
    var savedPromise = Promise()

    /// What must happen according to the operators' requests and the exits so far, derived without the machine.
    struct Promise {
        var staysDown = false
        var isRelaunchWished = false
        /// A restart was announced.
        var isRestartDue = false
        var restarts = 0
        /// The restarts since somebody launched the app.
        var instants: [Instant] = []
        /// The launches whose exits were handled.
        var settled: Set<LaunchID> = []
    }

    static func random(_ index: Int, _ generator: inout SeededGenerator) -> SimulatedApp {
        var settings = RestartSettings()
        settings.policy = generator.pick([.always, .onFailure, .onWatchdog, .never])
        settings.consequence = generator.pick([.stop, .keepTrying])
        settings.limit = generator.pick([.count(3), .count(20), .infinity])
        let spec = AppSpec(
            name: "app\(index)",
            allowances: Allowances(launch: .seconds(3), update: .seconds(2), terminate: .seconds(1)),
            readiness: generator.pick([.channel, .none, .automatic]))
        return SimulatedApp(spec: spec, hasPreparations: generator.oneIn(3), settings: settings)
    }
}

/// A daemon's in-memory state of an app: the shipped machine and its queued events.
final class SimulatedBrain {
    let app: Int
    var machine: AppMachine
    var queue: [AppEvent] = []
    var isHandling = false
    var isForgotten = false
    var isBegun = false
    /// The number of launches requested; the latest may still be under construction.
    var creation = 0

    var isConfigured: Bool { machine.standing == .enabled || machine.standing == .disabled }

    init(_ app: Int, _ machine: AppMachine) {
        self.app = app
        self.machine = machine
    }
}

/// A process, which does not notice when the daemon dies.
struct SimulatedProcess {
    let app: Int
    let isDeaf: Bool
    var isHanging = false
    var isUnkillable: Bool
}

/// A launch in a daemon's memory.
struct SimulatedLaunch {
    let brain: SimulatedBrain
    var machine: ProcessMachine
    var queue: [ProcessEvent] = []
    var isHandling = false
    var pendingReports: Set<Int> = []
}

/// A launch on disk.
struct SimulatedFile {
    let app: Int
    let order: Int
    var machine: ProcessMachine
    var pending: Set<Int> = []
    /// Whether the effects of the machine's state were all carried out.
    var isSettled = false
}
