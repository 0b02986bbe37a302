// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogControl
import WatchdogDaemon
import WatchdogLaunch
import WatchdogLinux
import WatchdogMetrics
import WatchdogPolicy
import WatchdogVerdict

/// Counts the events of a run's program, for its metrics.
///
/// Isolation: the loop's thread.
final class RunMeter: MetricsSource {
    let host: Host
    let disks: DiskReading
    /// When counting began, in the first of the runs that share the counts.
    let started: Duration
    let invalidFileCount = 0
    private(set) var failedReports = 0
    /// Updated by the session.
    var droppedLines = 0
    private(set) lazy var metrics = MetricsCollection(of: self)

    private let launch: AppLaunch
    private let spec: AppSpec
    private var counts = AppMeter()
    private var lastIncident: Duration?

    /// - Parameter kept: the counts of the run before; nil to start from 0.
    init(of launch: AppLaunch, _ spec: AppSpec, continuing kept: KeptCounts?) throws(LinuxError) {
        let now = Duration(since1970: .now())
        // A clock that was set back must not move the beginning into the future.
        started = kept.map { min(now, .microseconds($0.startedUSec)) } ?? now
        lastIncident = kept?.lastIncidentUSec.map { .microseconds($0) }
        if let kept { counts.add(kept) }
        self.launch = launch
        self.spec = spec
        host = launch.shell.host
        disks = try DiskReading(on: launch.shell.host.loop)
        launch.supervisor.onMeasurement = { [unowned self] in counts.measured($0) }
    }

    // MARK: - Events

    func noticed(_ notice: Notice) {
        counts.noticed(notice, phases: launch.phases)
        counts.run(launch.supervisor.machine.phase == .running, at: host.loop.now)
    }

    func reported(_ report: ReportOutcome) {
        if report.isUnwritten { failedReports += 1 }
        guard !report.isVoid else { return }
        counts.reported(report.verdict.kind, fault: report.fault.map { AppMeter.Fault($0) })
        lastIncident = Duration(since1970: .now())
    }

    func ended(_ outcome: Outcome) {
        if case .spawnFailed = outcome.cause { counts.launchFailed() }
        counts.ended(outcome, isCausedByMemory: launch.shell.mayHaveEndedForMemory)
        counts.run(false, at: host.loop.now)
    }

    // MARK: - Metrics

    var appNames: [String] { [spec.name] }

    func reading(of name: String, at now: Instant, _ wall: Duration) -> MetricsCollection.Reading? {
        guard name == spec.name else { return nil }
        var app = AppReading(ofRun: launch, spec, counts, at: now, wall)
        app.lastIncident = lastIncident
        return MetricsCollection.Reading(app: app, cgroup: launch.outcome == nil ? launch.shell.cgroup : nil)
    }

    /// The counts for the next run.
    var kept: KeptCounts {
        KeptCounts(of: spec.name, counts.counted(until: host.loop.now), started: started, lastIncident: lastIncident)
    }

    func say(_ line: String) { StandardError.mention(line) }
}

/// The answer times of an app's main loop.
struct AnswerTimes: Equatable {
    /// The longest time of an answer to a ping, or of waiting for one that has not come; nil without pings.
    var longest: Duration?
    /// The time for which the main loop had not answered at the end, if that is a hang; a late answer counts as such.
    var silence: Duration?
}

extension AnswerTimes {
    /// The times of an app that has ended.
    init(of machine: ProcessMachine, until end: Instant) {
        let silence = machine.silentSince.map { max(.zero, end - $0) }
        let answered = machine.pings.count > 0 ? max(machine.pings.maximum, machine.hangs.maximum) : nil
        self.init(
            longest: [answered, silence].compactMap(\.self).max(),
            silence: silence.flatMap { $0 < machine.spec.hangThreshold ? nil : $0 })
    }
}
