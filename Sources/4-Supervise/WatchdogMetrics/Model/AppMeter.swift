// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy
public import WatchdogVerdict

/// Counts the events of one app since the daemon's start.
///
/// Each event costs a few additions, regardless of the app's age. Counts that are still zero share their memory with
/// those of all other apps.
public struct AppMeter: Hashable, Sendable {
    /// The cause of a process's end.
    public enum Termination: String, CaseIterable, Hashable, Sendable {
        /// The watchdog killed it.
        case watchdog
        /// A signal that watchdogd had not sent ended it.
        case crash
        /// The kernel killed it because memory was exhausted.
        case memory
        /// It exited with a code other than 0.
        case exit
        /// It exited with 0.
        case done
        /// A user or client requested it.
        case request
        /// The exit status is unknown.
        case unknown
    }

    /// The party at fault for an incident.
    public enum Fault: String, CaseIterable, Hashable, Sendable {
        /// The app's own code.
        case app
        /// Load, quota, memory or disk of the machine.
        case machine
        /// Both.
        case appAndMachine = "app-and-machine"
        /// The process or user that stopped, traced, froze or killed the app.
        case somebodyElse = "somebody-else"
        /// The evidence does not show it.
        case unknown
    }

    /// The bounds of ``launchDurations``; 0.4 s and 5 s are the goal and the advice of Apple, 20 s is the default limit.
    static let launchBounds: [Duration] = [
        .milliseconds(100), .milliseconds(400), .seconds(1), .milliseconds(2_500), .seconds(5), .seconds(10),
        .seconds(20),
    ]
    /// The bounds of ``launchPhases``: few, because each phase has its own series.
    static let phaseBounds: [Duration] = [.milliseconds(10), .milliseconds(100), .seconds(1), .seconds(5)]
    /// The bounds of ``pings``; 16 ms is one frame, 250 ms a hang, 10 s the default limit.
    static let pingBounds: [Duration] = [
        .milliseconds(1), .milliseconds(16), .milliseconds(100), .milliseconds(250), .seconds(1), .seconds(10),
    ]
    static let hangBounds: [Duration] = [
        .milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(10),
    ]
    static let probeBounds: [Duration] = [
        .milliseconds(1), .milliseconds(10), .milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5),
    ]
    static let reloadBounds: [Duration] = [
        .milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5), .seconds(10), .seconds(30),
    ]
    private static let noLaunchDurations = FixedHistogram(bounds: launchBounds)
    private static let noPhases = LaunchPhaseName.allCases.map { _ in FixedHistogram(bounds: phaseBounds) }
    private static let noPings = FixedHistogram(bounds: pingBounds)
    private static let noHangs = FixedHistogram(bounds: hangBounds)
    private static let noProbes = FixedHistogram(bounds: probeBounds)
    private static let noReloads = FixedHistogram(bounds: reloadBounds)
    private static let noIncidents = [Int](repeating: 0, count: 2 * WatchdogEvent.allCases.count)
    private static let noVerdicts = [Int](repeating: 0, count: Verdict.Kind.allCases.count)
    private static let noFaults = [Int](repeating: 0, count: Fault.allCases.count)
    private static let noTerminations = [Int](repeating: 0, count: Termination.allCases.count)
    private static let killSignal: Int32 = 9

    /// The number of started processes.
    public private(set) var launches = 0
    /// The number of launches without a process.
    public private(set) var launchFailures = 0
    /// Exhausted allowances by event and action: for each event, those that were only reported precede those that
    /// killed.
    private(set) var incidentCounts = noIncidents
    /// Reports, written or not, by verdict.
    private(set) var verdictCounts = noVerdicts
    /// Reports by the party that they blame.
    private(set) var faultCounts = noFaults
    /// Ends of processes by cause.
    private(set) var terminationCounts = noTerminations
    /// The times from `execve` to ready, of launches that reported or proved readiness.
    public private(set) var launchDurations = noLaunchDurations
    /// The durations of each launch phase, in order, of launches that became ready.
    public private(set) var launchPhases = noPhases
    /// Round trips of answered pings.
    public private(set) var pings = noPings
    /// Hangs that ended by themselves.
    public private(set) var hangs = noHangs
    /// Successful liveness probes.
    public private(set) var probes = noProbes
    /// Liveness probes that failed while the app was ready.
    public private(set) var failedProbes = 0
    /// Successful reloads.
    public private(set) var reloads = noReloads
    /// The total time for which the app was ready and not terminating.
    public private(set) var runningTime: Duration = .zero
    /// The start of the current such time; nil if the app is not in it.
    private var runningSince: Instant?

    /// Creates a meter with all counts zero.
    public init() {}

    // MARK: - Questions

    /// Exhausted allowances.
    public func incidents(_ event: WatchdogEvent, isEnforced: Bool) -> Int {
        incidentCounts[Self.index(event, isEnforced: isEnforced)]
    }

    /// Reports with this verdict, written or not.
    public func verdicts(_ kind: Verdict.Kind) -> Int { verdictCounts[Self.index(kind)] }

    /// Reports that blame this party.
    public func faults(_ fault: Fault) -> Int { faultCounts[Self.index(fault)] }

    /// Ends of processes with this cause.
    public func terminations(_ cause: Termination) -> Int { terminationCounts[Self.index(cause)] }

    /// A copy that includes the running time until an instant.
    public func counted(until now: Instant) -> AppMeter {
        var counted = self
        counted.run(false, at: now)
        return counted
    }

    private static func index<Value: CaseIterable & Equatable>(_ value: Value) -> Int {
        var index = 0
        for candidate in Value.allCases {
            if candidate == value { return index }
            index += 1
        }
        preconditionFailure("a value is one of all")
    }

    private static func index(_ event: WatchdogEvent, isEnforced: Bool) -> Int {
        2 * index(event) + (isEnforced ? 1 : 0)
    }

    // MARK: - Events

    /// Counts a notice of a process machine.
    ///
    /// - Parameter phases: the durations of the launch phases, as far as they are known; evaluated when the app is
    ///   ready.
    public mutating func noticed(_ notice: Notice, phases: @autoclosure () -> [LaunchPhaseName: Duration] = [:]) {
        switch notice {
        case .launched: launches += 1
        // Skip assumed readiness: the time would only be the allowance.
        case .ready(.assumed, _): break
        case .ready(_, let duration):
            launchDurations.record(duration)
            for (phase, duration) in phases() { launchPhases[Self.index(phase)].record(duration) }
        case .hung(let duration): hangs.record(duration)
        case .transgressed(let incident):
            incidentCounts[Self.index(incident.event, isEnforced: incident.isEnforced)] += 1
        default: break
        }
    }

    /// Counts an answer.
    public mutating func measured(_ measurement: Measurement) {
        switch measurement {
        case .ping(let duration): pings.record(duration)
        case .probe(let duration): probes.record(duration)
        case .failedProbe: failedProbes += 1
        }
    }

    /// Records whether the app is ready and not terminating.
    public mutating func run(_ isRunning: Bool, at now: Instant) {
        if let since = runningSince { runningTime += max(.zero, now - since) }
        runningSince = isRunning ? now : nil
    }

    /// Counts a launch that started no process.
    public mutating func launchFailed() { launchFailures += 1 }

    /// Counts a successful reload.
    public mutating func reloaded(in duration: Duration) { reloads.record(duration) }

    /// Counts the end of a process, if there was one.
    public mutating func ended(_ outcome: Outcome, isCausedByMemory: Bool) {
        let cause: Termination
        switch (outcome.cause, outcome.status) {
        case (.spawnFailed, _): return
        case (.watchdog, _): cause = .watchdog
        case (.terminated, _), (.killedOnRequest, _): cause = .request
        case (.exited, .exited(code: 0)): cause = .done
        case (.exited, .exited): cause = .exit
        case (.exited, .signaled(Self.killSignal, _)) where isCausedByMemory: cause = .memory
        case (.exited, .signaled): cause = .crash
        case (.exited, .unknown), (.exited, nil): cause = .unknown
        }
        terminationCounts[Self.index(cause)] += 1
    }

    /// Counts the verdict of a report.
    ///
    /// - Parameter fault: nil without a report that determines it.
    public mutating func reported(_ verdict: Verdict.Kind, fault: Fault?) {
        verdictCounts[Self.index(verdict)] += 1
        if let fault { faultCounts[Self.index(fault)] += 1 }
    }

    // MARK: - Sums

    /// Adds the counts of another meter; both must be the result of ``counted(until:)``.
    public mutating func add(_ other: AppMeter) {
        launches += other.launches
        launchFailures += other.launchFailures
        Self.add(other.incidentCounts, to: &incidentCounts)
        Self.add(other.verdictCounts, to: &verdictCounts)
        Self.add(other.faultCounts, to: &faultCounts)
        Self.add(other.terminationCounts, to: &terminationCounts)
        launchDurations.add(other.launchDurations)
        for index in launchPhases.indices { launchPhases[index].add(other.launchPhases[index]) }
        pings.add(other.pings)
        hangs.add(other.hangs)
        probes.add(other.probes)
        failedProbes += other.failedProbes
        reloads.add(other.reloads)
        runningTime += other.runningTime
    }

    private static func add(_ counts: [Int], to sums: inout [Int]) {
        for index in sums.indices { sums[index] += counts[index] }
    }

    // MARK: - Files

    /// The counts with their names in files.
    var namedCounts: [(name: String, count: Int)] { Self.countPlaces.map { ($0.name, self[keyPath: $0.place]) } }

    /// The histograms with their names in files.
    var namedHistograms: [(name: String, histogram: FixedHistogram)] {
        Self.histogramPlaces.map { ($0.name, self[keyPath: $0.place]) }
    }

    /// Adds the counts of a file.
    public mutating func add(_ kept: KeptCounts) {
        for (name, place) in Self.countPlaces { self[keyPath: place] += kept.count(name) }
        for (name, place) in Self.histogramPlaces {
            guard let histogram = kept.histogram(name, bounds: self[keyPath: place].bounds) else { continue }
            self[keyPath: place].add(histogram)
        }
        runningTime += .nanoseconds(max(0, kept.runningNSec))
    }

    private static var countPlaces: [(name: String, place: WritableKeyPath<AppMeter, Int>)] {
        var places: [(name: String, place: WritableKeyPath<AppMeter, Int>)] = [
            ("launches", \.launches), ("launch-failures", \.launchFailures), ("probe-failures", \.failedProbes),
        ]
        for event in WatchdogEvent.allCases {
            let index = 2 * index(event)
            places.append(("incidents.\(event.rawValue).reported", \.incidentCounts[index]))
            places.append(("incidents.\(event.rawValue).killed", \.incidentCounts[index + 1]))
        }
        for kind in Verdict.Kind.allCases {
            places.append(("verdicts.\(kind.rawValue)", \.verdictCounts[index(kind)]))
        }
        for fault in Fault.allCases { places.append(("faults.\(fault.rawValue)", \.faultCounts[index(fault)])) }
        for cause in Termination.allCases {
            places.append(("terminations.\(cause.rawValue)", \.terminationCounts[index(cause)]))
        }
        return places
    }

    private static var histogramPlaces: [(name: String, place: WritableKeyPath<AppMeter, FixedHistogram>)] {
        [
            ("launch", \.launchDurations), ("ping", \.pings), ("hang", \.hangs), ("probe", \.probes),
            ("reload", \.reloads),
        ]
            + LaunchPhaseName.allCases.map {
                ("phase.\($0.rawValue)", \.launchPhases[index($0)])
            }
    }
}
