// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What the policy needs to know of an app.
public struct AppSpec: Hashable, Sendable, Codable {
    /// What happens when an allowance is exhausted.
    public enum Enforcement: String, Hashable, Sendable, Codable, CaseIterable {
        /// Capture the stacks, kill the app, write a report.
        case kill = "kill"
        /// Capture the stacks, let the app continue, write a report.
        case report = "report"
    }

    /// The app's name as it appears in reports.
    public var name: String
    /// Its allowances.
    public var allowances: Allowances
    /// The time between pings.
    public var pingInterval: Duration
    /// How it reports readiness.
    public var readiness: Readiness
    /// The target of readiness probes, as written in settings: `listen:8080`.
    public var readinessTarget: String?
    /// The longest time from the end of a failed readiness probe to the next; early in a launch it is shorter.
    public var probeInterval: Duration
    /// How the supervisor probes the app's liveness; nil if it relies on the app's messages.
    public var livenessProbe: LivenessProbe?
    /// What happens when an allowance is exhausted.
    public var enforcement: Enforcement
    /// When a kill is postponed.
    public var fairness: Fairness
    /// An answer of the main loop that takes longer is a hang; Apple's tools use 250 ms.
    public var hangThreshold: Duration = .milliseconds(250)
    /// When sampling of a silent main loop or of a launch starts, at the latest at half the allowance; other allowances
    /// start it at half.
    ///
    /// Nil for never.
    public var observationDelay: Duration?
    /// An answer of the main loop that takes longer gets a report; nil for never.
    public var hangReportThreshold: Duration?
    /// Which ends not caused by the watchdog get a report; nil for none.
    public var crashReports: CrashReports?
    /// The time for a capture; then the app is killed without it.
    public var captureBudget: Duration = .seconds(2)
    /// The time for a killed process tree to disappear; then the survivors are reported as unkillable.
    public var deathBudget: Duration = .seconds(2)
    /// The allowances of the lifecycle.
    @Shared public var lifecycle = LifecycleAllowances()

    private enum CodingKeys: String, CodingKey {
        case name, allowances, pingInterval, readiness, readinessTarget, probeInterval, livenessProbe, enforcement,
            fairness, hangThreshold, observationDelay, hangReportThreshold, crashReports, captureBudget, deathBudget,
            lifecycle
    }

    /// Creates a spec.
    public init(
        name: String,
        allowances: Allowances = Allowances(),
        pingInterval: Duration = .seconds(1),
        readiness: Readiness = .automatic,
        probeInterval: Duration = .milliseconds(25),
        enforcement: Enforcement = .kill,
        fairness: Fairness = Fairness()
    ) {
        precondition(pingInterval > .zero && probeInterval > .zero, "an interval must be positive")
        self.name = name
        self.allowances = allowances
        self.pingInterval = pingInterval
        self.readiness = readiness
        self.probeInterval = probeInterval
        self.enforcement = enforcement
        self.fairness = fairness
    }

    /// Whether the intervals are valid: saved ones may be damaged.
    var hasPositiveIntervals: Bool {
        pingInterval > .zero && probeInterval > .zero && fairness.pauseInterval > .zero
    }

    /// What completes the launch, as written in settings; nil if nothing is waited for.
    var awaited: String? {
        switch readiness {
        case .listening, .command: readinessTarget
        case .automatic, .channel, .notify: "READY=1"
        case .probe: livenessProbe?.target
        case .none: nil
        }
    }

    /// Whether the app leaves a crash log if it does not end when asked: an engine kills its container without warning.
    ///
    /// - Parameter gracePeriod: the time from the engine's request to its kill.
    public func leavesCrashLog(within gracePeriod: Duration) -> Bool {
        allowances.terminate + captureBudget < gracePeriod
    }

    /// The same spec with its allowances and ping interval multiplied, so that tests are quick without magic numbers.
    ///
    /// - Parameter factor: positive; results are never shorter than a millisecond.
    public func scaled(by factor: Double) -> AppSpec {
        precondition(factor > 0 && factor.isFinite, "the time scale must be positive")
        func scale(_ duration: Duration) -> Duration {
            let scaled = Double(duration.nanoseconds) * factor + 0.5
            return max(.milliseconds(1), .nanoseconds(scaled < 9e18 ? Int64(scaled) : .max))
        }
        var copy = self
        copy.allowances = Allowances(
            launch: scale(allowances.launch),
            update: scale(allowances.update),
            terminate: scale(allowances.terminate)
        )
        copy.pingInterval = scale(pingInterval)
        copy.lifecycle = lifecycle.map(scale)
        return copy
    }
}

/// The allowances of an app, in wall-clock time.
///
/// The defaults are those of iOS: 20 s to launch, 10 s for an answer of the main loop, 5 s to end. They are starting
/// points of the policy, not constants of the code: each spec has its own.
public struct Allowances: Hashable, Sendable, Codable {
    /// From `execve` to ready; one budget for `process-launch` and `scene-create`.
    public var launch: Duration
    /// From a ping to the main loop's answer, or between two `WATCHDOG=1` messages.
    public var update: Duration
    /// From the request to terminate until the process is gone.
    public var terminate: Duration

    private enum CodingKeys: String, CodingKey { case launch, update, terminate }

    /// Creates allowances; each must be positive.
    public init(launch: Duration = .seconds(20), update: Duration = .seconds(10), terminate: Duration = .seconds(5)) {
        precondition(launch > .zero && update > .zero && terminate > .zero, "an allowance must be positive")
        self.launch = launch
        self.update = update
        self.terminate = terminate
    }
}
