// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
import WatchdogConfiguration
package import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
package import WatchdogPolicy

extension AppState {
    init(of app: DaemonApp) {
        switch app.machine.phase {
        case .stopped: self = .stopped
        case .creating where app.configuration?.observed != nil: self = .waiting
        case .creating, .preparing: self = .launching
        case .live: self = Self(live: app.live?.supervisor.machine.phase ?? .idle)
        // A launch that is due happens in this turn of the loop.
        case .waiting(let instant): self = instant > app.daemon.host.loop.now ? .waiting : .launching
        case .failed: self = .failed
        case .unkillable: self = .unkillable
        }
    }

    /// The state during a launch, whose process may not be running yet, or whose end may not be settled yet.
    private init(live phase: ProcessMachine.Phase) {
        switch phase {
        case .idle: self = .launching
        case .ended: self = .terminating
        case .launching, .running, .terminating, .capturing, .dying: self.init(phase)
        }
    }
}

extension AppSummary {
    /// The line for an app in a list.
    init(of app: DaemonApp) {
        let (now, time) = (app.daemon.host.loop.now, Timestamp.now())
        let machine = app.live?.supervisor.machine
        var nextLaunch: Timestamp?
        if case .waiting(let instant) = app.machine.phase {
            nextLaunch = Timestamp(microseconds: time.microseconds + Microseconds(instant - now).count)
        }
        self.init(
            name: app.name,
            summary: app.configuration?.program.description,
            state: AppState(of: app),
            isAnswering: machine.flatMap { AppSummary.isAnswering($0, at: now) },
            silence: machine.flatMap { SilenceSummary(of: $0, at: now, time) },
            isWatched: machine.flatMap { $0.phase == .running ? $0.isWatched : nil },
            since: app.current?.stateBegan ?? app.since,
            pid: app.current?.pid,
            cgroup: app.current?.shell.tree.containingCgroup,
            uptime: app.current?.launchedAt.map { now - $0 },
            restarts: app.machine.restartCount + app.machine.requestedRestarts,
            nextLaunch: nextLaunch,
            lastIncident: app.notices.lastIncident
        )
    }
}

extension AppSummary {
    /// Whether an app that is ready answers; nil if it is not ready.
    package static func isAnswering(_ machine: ProcessMachine, at now: Instant) -> Bool? {
        machine.phase == .running ? machine.isAnswering(at: now) : nil
    }
}

extension SilenceSummary {
    /// What keeps an app from answering; nil if nothing is known to.
    ///
    /// - Parameter time: the calendar time of the instant.
    package init?(of machine: ProcessMachine, at now: Instant, _ time: Timestamp) {
        guard let silence = machine.silence(at: now) else { return nil }
        self.init(silence.reason, since: time.earlier(by: now - silence.since))
    }
}

extension Timestamp {
    /// The time that was so long ago.
    func earlier(by duration: Duration) -> Timestamp {
        Timestamp(microseconds: microseconds - Microseconds(duration).count)
    }
}

extension AppDetails {
    /// What is known of an app beyond its summary.
    init?(of app: DaemonApp) {
        guard let configuration = app.configuration else { return nil }
        let machine = app.latest?.supervisor.machine
        var launch: LaunchSummary?
        if let duration = machine?.launchDuration, let source = app.latest?.readiness {
            launch = LaunchSummary(duration: duration, source: source)
            launch?.add(
                app.latest?.supervisor.trace ?? LaunchTrace(), requestedAt: app.latest?.shell.tree.launched?.instant,
                launchedAt: machine?.launchedAt, ready: duration)
            launch?.add(app.latest?.phases ?? [:])
        }
        let requests = app.machine.requestedRestarts
        var causes = Dictionary(uniqueKeysWithValues: app.machine.restartsByCause.map { ($0.key.rawValue, $0.value) })
        if requests > 0 { causes["request"] = requests }
        self.init(
            file: app.file,
            isEnforced: configuration.watchdog.enforcement == .kill,
            allowances: AllowanceSummary(configuration.spec.allowances),
            launch: launch,
            launchedFor: app.latest?.supervisor.trace.cause?.words,
            restartsByCause: causes,
            reachedLimit: app.machine.reachedLimit.map { LimitSummary($0) },
            pings: machine.map { LatencySummary($0.pings) } ?? LatencySummary(),
            probes: configuration.watchdog.probe.map { _ in LatencySummary(machine?.probes ?? LatencyHistogram()) },
            failedProbes: configuration.watchdog.probe.map { _ in app.latest?.supervisor.account.failedProbes ?? 0 },
            lastAnswer: app.live?.lastAnswer,
            probeRefusal: machine?.isProbeImpossible == true ? app.latest?.probeRefusal : nil,
            probeAdvice: machine?.isWatched == false ? configuration.probeAdvice : nil,
            hangs: machine.map { LatencySummary($0.hangs) } ?? LatencySummary(),
            strayAnswers: machine?.strayAnswers ?? 0,
            lastExit: app.notices.lastExit,
            status: app.current?.supervisor.account.status,
            lifecycle: app.current?.supervisor.machine.lifecycleState.rawValue,
            output: configuration.program.standardOutput.place,
            reportGaps: app.latest?.shell.gaps
        )
    }
}

extension LaunchSummary {
    /// Adds the phases, if any is known.
    package mutating func add(_ durations: [LaunchPhaseName: Duration]) {
        guard !durations.isEmpty else { return }
        phases = LaunchPhaseName.allCases.compactMap { phase in
            durations[phase].map { LaunchPhaseSummary(phase, $0) }
        }
    }

    /// Adds the moments of the launch, as far as they are known.
    fileprivate mutating func add(_ trace: LaunchTrace, requestedAt: Instant?, launchedAt: Instant?, ready: Duration) {
        guard let launchedAt else { return }
        let since = { (moment: Instant?) in moment.map { Microseconds(max(.zero, $0 - launchedAt)) } }
        request = requestedAt.map { Microseconds(max(.zero, launchedAt - $0)) }
        (hello, firstFrame, useful) = (since(trace.hello), since(trace.firstFrame), since(trace.useful))
        extended = trace.extended(launchedAt: launchedAt, ready: ready).map { Microseconds($0) }
        let open = trace.tasks.filter { $0.end == nil }.map(\.name)
        openTasks = open.isEmpty ? nil : open
    }
}

extension OutputTarget {
    /// The keyword in the configuration, or the path of the file.
    fileprivate var place: String {
        switch self {
        case .journal: "journal"
        case .inherit: "inherit"
        case .null: "null"
        case .file(let path), .append(let path), .truncate(let path): path
        }
    }
}
