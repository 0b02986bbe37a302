// SPDX-License-Identifier: Apache-2.0

import TestSupport
import WatchdogBase
import WatchdogPolicy

/// An app in the world of a ``SimulatedDaemon``: its file, what is saved of it, and what has to come true.
struct SimulatedApp {
    let spec: AppSpec
    let hasPreparations: Bool
    var settings: RestartSettings
    /// What its file says.
    var standing = AppStanding.enabled
    var saved: SavedApp?
    /// What the daemon that runs knows; nil when it knows nothing of the app.
    var brain: SimulatedBrain?
    var promise = Promise()
    /// As far as it survives the daemon.
    var savedPromise = Promise()

    /// What operators and the ends so far have led to, told by what was asked and answered.
    struct Promise {
        var staysDown = false
        var isRelaunchWished = false
        /// A restart was announced.
        var isRestartDue = false
        var restarts = 0
        /// Those since somebody launched the app.
        var instants: [Instant] = []
        /// The launches whose ends were acted on.
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

/// What a daemon has in memory of an app: the shipped machine, with its events in order.
final class SimulatedBrain {
    let app: Int
    var machine: AppMachine
    var queue: [AppEvent] = []
    var isHandling = false
    var isForgotten = false
    var isBegun = false
    /// Counts the launches that it has asked for; the latest may still be created.
    var creation = 0

    var isConfigured: Bool { machine.standing == .enabled || machine.standing == .disabled }

    init(_ app: Int, _ machine: AppMachine) {
        self.app = app
        self.machine = machine
    }
}

/// A process, which does not notice the death of the daemon.
struct SimulatedProcess {
    let app: Int
    let isDeaf: Bool
    var isHanging = false
    var isUnkillable: Bool
}

/// A launch in the memory of a daemon.
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
    var owed: Set<Int> = []
    /// Whether everything was done that the machine's state led to.
    var isSettled = false
}
