// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
import WatchdogConfiguration
import WatchdogControl
import WatchdogHistory
import WatchdogLaunch
import WatchdogLinux
package import WatchdogMetrics
package import WatchdogPolicy
package import WatchdogRendering

extension AppReading {
    /// What is known of an app.
    ///
    /// - Parameters:
    ///   - now: the time of the reading.
    ///   - wall: the same, since 1970-01-01 00:00 UTC.
    init(of app: DaemonApp, at now: Instant, _ wall: Duration) {
        self.init(
            name: app.name, state: State(rawValue: AppState(of: app).rawValue) ?? .stopped,
            meter: app.meter.counted(until: now))
        if let configuration = app.configuration {
            readiness = configuration.watchdog.readiness.readiness.metricLabel
            enforcement = configuration.watchdog.enforcement.rawValue
            allowances = configuration.spec.allowances
            hasProbe = configuration.watchdog.probe != nil
            hasReload = !configuration.program.reloadCommands.isEmpty
        }
        version = app.latest.map { Self.version(of: $0) } ?? ""
        lastIncident = app.notices.lastIncident.map { .microseconds($0.time.microseconds) }
        if let launch = app.live { note(launch, at: now, wall) }
    }

    /// What is known of the program of a run.
    ///
    /// - Parameters:
    ///   - meter: its counts.
    ///   - now: the time of the reading.
    ///   - wall: the same, since 1970-01-01 00:00 UTC.
    package init(ofRun launch: AppLaunch, _ spec: AppSpec, _ meter: AppMeter, at now: Instant, _ wall: Duration) {
        self.init(
            name: spec.name, state: State(rawValue: AppState(ofRun: launch.supervisor.machine).rawValue) ?? .stopped,
            meter: meter.counted(until: now))
        readiness = spec.readiness.metricLabel
        enforcement = spec.enforcement.rawValue
        allowances = spec.allowances
        hasProbe = spec.livenessProbe != nil
        version = Self.version(of: launch)
        if launch.outcome == nil { note(launch, at: now, wall) }
    }

    private static func version(of launch: AppLaunch) -> String {
        launch.shell.configuration.version ?? launch.notes.version.name
    }

    /// Adds the times of a launch whose process has not ended.
    private mutating func note(_ launch: AppLaunch, at now: Instant, _ wall: Duration) {
        let machine = launch.supervisor.machine
        isAnswering = machine.isAnswering(at: now)
        isStoppedBySignal = machine.silence(at: now)?.reason == .held(.stopped)
        guard let moment = launch.shell.tree.launched else { return }
        let start = Duration(since1970: moment.time)
        started = start
        if let launchedAt = launch.launchedAt, let duration = machine.launchDuration {
            ready = start + (launchedAt - moment.instant) + duration
        }
        // Milliseconds: the two clocks are not read at the same nanosecond.
        lastAnswer = launch.supervisor.account.lastAnswer.map { (wall - (now - $0)).inMilliseconds }
    }
}

extension Duration {
    /// The time since 1970-01-01 00:00 UTC.
    package init(since1970 time: WallTime) {
        self = .seconds(time.seconds) + .nanoseconds(Int64(time.nanoseconds))
    }

    fileprivate var inMilliseconds: Duration { .milliseconds(nanoseconds / 1_000_000) }
}

extension Readiness {
    /// As in `Readiness=`, without the address or the command.
    fileprivate var metricLabel: String {
        switch self {
        case .automatic: "auto"
        case .channel: "channel"
        case .notify: "notify"
        case .listening: "listen"
        case .command: "exec"
        case .probe: "probe"
        case .none: "none"
        }
    }
}

extension AppMeter.Fault {
    /// The fault that a report finds.
    package init(_ party: Blame.Party) {
        self =
            switch party {
            case .app: .app
            case .machine: .machine
            case .appAndMachine: .appAndMachine
            case .somebodyElse: .somebodyElse
            case .unknown: .unknown
            }
    }
}

extension AppState {
    /// The state of the program of a run, which is launched when the run begins.
    package init(ofRun machine: ProcessMachine) {
        self = machine.phase == .idle ? .launching : AppState(machine.phase)
    }
}
