// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy

extension DaemonApp {
    /// Where the app is, in the words of the control interface.
    var state: AppState {
        switch stage {
        case .stopped: .stopped
        case .preparing: .launching
        case .live(let launch): AppState(launch.supervisor.machine.phase)
        case .waiting: .waiting
        case .failed: .failed
        case .unkillable: .unkillable
        }
    }

    /// The line that a list has for the app.
    var summary: AppSummary {
        let now = daemon.host.loop.now
        var nextLaunch: Timestamp?
        if case .waiting(let instant) = stage {
            nextLaunch = Timestamp(microseconds: Timestamp.now().microseconds + Microseconds(instant - now).count)
        }
        return AppSummary(
            name: name,
            summary: configuration.program.description,
            state: state,
            since: current?.stateBegan ?? since,
            pid: current?.pid,
            uptime: current?.launchedAt.map { now - $0 },
            restarts: restarts.restarts + requestedRestarts,
            nextLaunch: nextLaunch,
            lastIncident: lastIncident
        )
    }

    private var reachedLimit: LimitSummary? {
        switch stage {
        case .waiting, .failed: restarts.reachedLimit.map { LimitSummary($0) }
        case .stopped, .preparing, .live, .unkillable: nil
        }
    }

    /// What is told beyond that.
    var details: AppDetails {
        let machine = latest?.supervisor.machine
        var launch: LaunchSummary?
        if let duration = machine?.launchDuration, let source = latest?.readiness {
            launch = LaunchSummary(duration: duration, source: source)
        }
        var causes = Dictionary(uniqueKeysWithValues: restarts.restartsByCause.map { ($0.key.rawValue, $0.value) })
        if requestedRestarts > 0 { causes["request"] = requestedRestarts }
        return AppDetails(
            file: file,
            isEnforced: configuration.watchdog.enforcement == .kill,
            allowances: AllowanceSummary(configuration.spec.allowances),
            launch: launch,
            restartsByCause: causes,
            reachedLimit: reachedLimit,
            pings: machine.map { LatencySummary($0.pings) } ?? LatencySummary(),
            probes: configuration.watchdog.probe.map { _ in LatencySummary(machine?.probes ?? LatencyHistogram()) },
            probeRefusal: machine?.isProbeImpossible == true ? latest?.probeRefusal : nil,
            hangs: machine.map { LatencySummary($0.hangs) } ?? LatencySummary(),
            strayAnswers: machine?.strayAnswers ?? 0,
            lastExit: lastExit,
            status: current?.supervisor.account.status,
            lifecycle: current?.supervisor.machine.lifecycleState.rawValue,
            output: configuration.program.standardOutput.place
        )
    }
}

extension OutputTarget {
    /// The word of the configuration, or the path of the file.
    fileprivate var place: String {
        switch self {
        case .journal: "journal"
        case .inherit: "inherit"
        case .null: "null"
        case .file(let path), .append(let path), .truncate(let path): path
        }
    }
}
