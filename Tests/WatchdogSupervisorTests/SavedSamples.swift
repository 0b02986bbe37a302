// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogConfiguration
import WatchdogControl
import WatchdogReport

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogPolicy
@testable import WatchdogRun

/// Saved values that have all of their optional fields, and all cases of those that have several.
enum SavedSamples {
    static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static let task = BackgroundTask(id: 5, name: "save", begunAt: start)
    private static let lock = LockedFile(path: "/var/lib/a.db", kind: .sqlite, isExclusive: true, process: 42)
    private static let missed = MissedProbes(
        target: "tcp:1", count: 3, last: .failed("refused"), lastDuration: .seconds(1))
    private static let histogram: LatencyHistogram = {
        var histogram = LatencyHistogram()
        histogram.record(.milliseconds(7))
        return histogram
    }()

    private static func id(_ number: Int) throws -> IncidentID {
        try #require(IncidentID("00000000-0000-4000-8000-00000000000\(number)"))
    }

    // MARK: - Parts of the policy

    static let spec: AppSpec = {
        var spec = AppSpec(name: "App", readiness: .listening)
        spec.readinessTarget = "listen:80"
        spec.livenessProbe = LivenessProbe(of: "http://localhost:80/", threshold: 2)
        spec.observationDelay = .seconds(3)
        spec.hangReportThreshold = .seconds(2)
        spec.crashReports = .all
        spec.lifecycle.backgroundCPUTime = .seconds(9)
        return spec
    }()

    static func incident(_ cause: Incident.Cause) -> Incident {
        Incident(
            id: 1, event: .sceneUpdate, cause: cause, allowance: .seconds(10), startedAt: start, windowStart: start,
            deadline: start + .seconds(12), decidedAt: start + .seconds(13), credit: .seconds(1),
            extended: .seconds(2), paused: .seconds(3), rebases: 4,
            evidence: Evidence(
                state: "T", tracer: 7, isFrozen: true, isDumpingCore: true, runTime: .seconds(1),
                runDelay: .seconds(2)),
            visibility: .background, isSuspended: true, isEnforced: true, awaited: "listen:80", isDeathVerified: true)
    }

    static let incidents: [Incident] = [
        .exhausted, .triggered, .probesFailed(missed), .launchCPUTime(used: .seconds(5)),
        .backgroundTasks([task], isMachineBusy: true), .tooManyTasks(1_000, first: [task]),
        .backgroundCPUTime(used: .seconds(9)), .lockedFiles([lock]),
    ].map(incident)

    private static let outcome = Outcome(
        cause: .watchdog(incident(.exhausted)), status: .signaled(signal: 9, coreDumped: false), isDeathVerified: true)

    private static let judgement = SavedJudgement(
        event: .sceneUpdate, allowance: .seconds(10), budget: .seconds(10), startedAt: start, windowStart: start,
        deadline: Deadline(start + .seconds(10)), credit: .seconds(1), paused: .seconds(2), rebases: 1,
        isObserved: true, isSlow: true,
        state: .paused(
            .init(
                pause: .traced(by: 7), since: start, remaining: .seconds(3), isFound: true, examination: 4,
                next: start + .seconds(1))))

    private static let lifecycle: SavedLifecycle = {
        var past = LifecycleRecord()
        past.enter(.foreground, at: start)
        past.openTasks = [task]
        past.resumes = histogram
        return SavedLifecycle(
            visibility: .background, goal: .suspended,
            obligations: SavedObligations(
                open: [.init(kind: .state(.background, id: 1), sentAt: start, allowance: .seconds(5))],
                waiting: [.event(kind: "push", payload: "x", sender: "mail")], statesAsked: 1, statesDone: 0,
                eventsSent: 2),
            background: SavedBackground(
                tasks: SavedTasks(
                    open: [task], count: 1, warning: start, warned: [5], floodedAt: start, isFloodDecided: true),
                stay: SavedStay(
                    phase: .open, judgement: judgement, idleSince: start, start: ResourceUse(cpuTime: .seconds(1)),
                    latest: ResourceUse(cpuTime: .seconds(2), runDelay: .seconds(3))),
                cpu: SavedCPUWatch(isForLaunch: true, limit: .seconds(5), start: .seconds(1), next: start)),
            freezer: SavedFreezer(
                state: .frozen(since: start, hasReport: true), locks: [lock], requestedAt: start, resumeStart: start),
            past: past)
    }()

    private static let watches = SavedWatches(
        duties: SavedDuties(
            allowance: SavedAllowance(purpose: .ping, judgement: judgement),
            pings: SavedPings(nonceState: 1, unanswered: [2], lastSent: start, next: start, isAnswered: true),
            pushes: SavedPushes(interval: .seconds(3), isExpected: true),
            latencies: SavedLatencies(pings: histogram, probes: histogram, hangs: histogram, strayAnswers: 1),
            progress: "1 %", graceEnd: start, isObserving: true, hasSpoken: true),
        probes: SavedProbes(
            step: .judging, startedAt: start, windowStart: start,
            failures: .init(missed: missed, since: start, judgement: judgement), paused: .seconds(1), rebases: 1,
            isImpossible: true),
        trigger: SavedTrigger(reason: .asked, judgement: judgement),
        incidents: SavedIncidents(
            closed: incidents, count: 8, killing: incidents[0],
            capture: .init(incident: incidents[1], budgetEnd: start, isKillRequested: true)),
        stoppedSince: start)

    /// A process in no particular state.
    private static let process = SavedProcess(
        spec: Shared(wrappedValue: spec), life: .ended(outcome),
        launch: SavedLaunch(state: .over, startedAt: start, duration: .seconds(1), source: .probe), watches: watches,
        death: SavedDeath(
            allowanceEnd: start, budgetEnd: start, status: .exited(code: 1), isTreeEmpty: true, isInsisted: true,
            wasRequested: true),
        examinations: 4, lifecycle: lifecycle)

    // MARK: - Files

    /// The launch of an app that runs, with all that may be known of one.
    private static func launch(_ machine: SavedProcess) throws -> LaunchState {
        LaunchState(
            launchID: try id(1),
            process: .init(
                pid: 42, startTime: 7, launchedAt: start,
                launchTime: .init(seconds: 1_700_000_000, nanoseconds: 5, utcOffset: 3_600), thread: 43),
            cgroup: "/sys/fs/cgroup/x", notifyAddress: "/run/watchdogd/serve/notify-1",
            descriptors: .init(channel: 9, notify: 10, process: 11), suspendedTime: .seconds(3),
            program: .init(
                executable: "/bin/app", arguments: ["/bin/app"], environment: ["A=b"], workingDirectory: "/", user: 1,
                group: 2, groups: [3], probe: .listening("*:80"),
                livenessTarget: .http(
                    HTTPProbe(
                        address: .tcp(.v4([127, 0, 0, 1]), port: 80), authority: "localhost:80", path: "/health",
                        statuses: [200...299], body: "ok")),
                takesCrashStacks: true),
            machine: machine,
            account: AppAccount(
                status: "fine", summary: "done", errno: 5, library: "swift 1", mainProcess: 44, pingsSent: 6,
                signsOfLife: 7, lastSignOfLife: start, lastProbe: start, failedProbes: 8,
                exitStatus: .signaled(signal: 11, coreDumped: true), malformed: 9, dropped: 10),
            pendingReports: [])
    }

    private static var running: SavedProcess {
        var machine = ProcessMachine(spec: spec, nonceSeed: 0)
        for event: ProcessEvent in [.launchRequested, .spawned(pid: 42), .hello, .probed(isReady: true)] {
            _ = machine.handle(event, at: start)
        }
        return machine.saved
    }

    private static let command = KeptCommand(pid: 50, startTime: 8, cgroup: "/sys/fs/cgroup/x-1")

    private static func reload(_ events: [ReloadMachine.Event]) -> ReloadMachine {
        var machine = ReloadMachine(
            commandCount: 2, allowance: .seconds(90), fairness: Fairness(), lastProgress: "1", mayAnnounce: true,
            at: start)
        for event in events { _ = machine.handle(event, at: start + .seconds(1)) }
        return machine
    }

    /// A launch that reloads: a command runs, and the app has announced a reload and asked for more time.
    static func reloading() throws -> LaunchState {
        var launch = try launch(running)
        let machine = reload([.begun, .announced, .extensionRequested(by: .seconds(120), progress: "2")])
        var other = Command(program: "/bin/kill", arguments: ["kill", "-HUP", "$MAINPID"])
        (other.ignoresFailure, other.isPrivileged, other.replacesVariables) = (true, true, false)
        launch.reload = KeptReload(
            machine: machine, commands: [Command(program: "/bin/true", arguments: ["true"]), other], command: command)
        return launch
    }

    /// A launch whose reload waits for the app's announcement.
    static func reloadEnding() throws -> LaunchState {
        var launch = try reloading()
        launch.reload?.machine = reload([
            .begun, .commandEnded(isSuccess: true), .commandEnded(isSuccess: true),
        ])
        launch.reload?.command = nil
        return launch
    }

    /// A launch with commands whose end nobody waits for.
    static func commands() throws -> LaunchState {
        var launch = try launch(running)
        launch.commands = [command, KeptCommand(cgroup: "/sys/fs/cgroup/x-2")]
        return launch
    }

    /// A launch that has crashed, and whose report is not written yet, nor are others.
    static func pendingCrash() throws -> LaunchState {
        var machine = try #require(ProcessMachine(resuming: running))
        _ = machine.handle(.exited(.signaled(signal: 11, coreDumped: true)), at: start + .seconds(1))
        _ = machine.handle(.treeEmptied, at: start + .seconds(1))
        var launch = try launch(machine.saved)
        launch.pendingCrash = try id(2)
        launch.pendingReports = [.init(incident: incident(.exhausted), report: try id(3))]
        return launch
    }

    static func app(_ stage: SavedApp.Stage) -> KeptApp {
        let restarts = RestartMachine.Saved(
            restarts: 3, restartsByCause: [.hang: 1],
            reachedLimit: RestartSettings.ReachedLimit(cause: .crash, count: 3, interval: .seconds(600)),
            backOff: .seconds(1), history: [.exit: [start]], pending: .launch, readySince: start, jitterState: 7)
        return KeptApp(
            SavedApp(
                stage: stage, afterEnd: .relaunch, restarts: restarts, requestedRestarts: 2, accounted: [],
                counted: LaunchID("356753AC-2172-45DC-977A-11F2328980D0")),
            lastIncident: IncidentSummary(
                kind: .crash, time: Timestamp(microseconds: 1), summary: "crashed", event: "scene-update",
                verdict: "waiting", report: "/r.ips"),
            lastExit: "exited with code 3")
    }

    /// Everything that is saved, and each case of what has several.
    static func all() throws -> [any Encodable] {
        let files: [any Encodable] = try [
            reloading(), reloadEnding(), commands(), pendingCrash(), launch(process),
            app(.waiting(until: start)),
        ]
        let policy: [any Encodable] = [
            AppSpec.Enforcement.allCases, CrashReports.allCases, LifecycleState.allCases,
            RestartSettings.Cause.allCases,
            Visibility.allCases, WatchdogEvent.allCases, LockedFile.Kind.allCases,
            [ReadinessSource.channel, .notify, .probe, .exec, .assumed],
            [SavedApp.AfterEnd.asConfigured, .stop, .relaunch],
            [SavedApp.Stage.stopped, .preparing, .live, .failed, .unkillable],
            [Readiness.automatic, .channel, .notify, .listening, .command, .probe, .none],
            [Pause.traced(by: 7), .stopped, .frozen, .dumpingCore],
            [MissedProbes.Failure.noAnswer, .failed("refused")],
            [Life.idle, .launching, .running, .terminating(isRequested: true), .dying, .ended(outcome)],
            [Outcome.Cause.spawnFailed, .exited, .terminated, .killedOnRequest],
            [ExitStatus.exited(code: 1), .signaled(signal: 9, coreDumped: false), .unknown],
            [LifecycleRequest.foreground, .background, .suspend, .resume],
            [Lifecycle.Goal.foreground, .background, .suspended],
            [Obligations.Kind.state(.foreground, id: 1), .event(name: "push", id: 2)],
            [
                Freezer.State.thawed, .asked(since: start, backstop: start), .frozen(since: start, hasReport: false),
            ],
            [
                TriggerWatch.Reason.asked, .backgroundTasks, .tooManyTasks, .launchCPUTime(.seconds(1)),
                .backgroundCPUTime(.seconds(1)), .lockedFiles([lock]),
            ],
            [SavedLaunch.State.none, .spawning(requests: 1), .waiting, .probing(next: start), .over],
            [SavedJudgement.State.counting, .examining(id: 1, backstop: start), .decided],
            [SavedProbes.Step.waiting(until: start), .probing(deadline: start), .judging],
            [SavedStay.Phase.open, .expiring, .over],
            [
                SavedAllowance.Purpose.launch, .ping, .push, .obligation, .termination, .requestedTermination,
            ],
        ]
        let addresses: [any Encodable] = [
            [LaunchState.Program.Probe.listening("*:80"), .command("true")],
            [ProbeSettings.Target.connect(.unix(path: "/run/a")), .command("true")],
            [NetworkAddress.tcp(.any, port: 1), .unix(path: "/run/a"), .abstract(name: "a")],
            [NetworkAddress.Host.any, .loopback, .v4([127, 0, 0, 1]), .v6([UInt8](repeating: 0, count: 16))],
        ]
        return files + policy + addresses
    }
}
