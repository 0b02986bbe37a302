// SPDX-License-Identifier: Apache-2.0

/// What the policy has to know of an app.
public struct AppSpec: Hashable, Sendable, Codable {
    /// What happens when an allowance is exhausted.
    public enum Enforcement: String, Hashable, Sendable, Codable, CaseIterable {
        /// The stacks are taken, the app is killed, a report is written.
        case kill
        /// The stacks are taken, the app goes on, a report is written.
        case report
    }

    /// The app's name as it appears in reports.
    public var name: String
    /// How long it may take for what.
    public var allowances: Allowances
    /// Time from one ping to the next.
    public var pingInterval: Duration
    /// How it tells that its launch is over.
    public var readiness: Readiness
    /// What a probe for readiness looks at, as people write it: `listen:8080`.
    public var readinessTarget: String?
    /// Time from the end of a readiness probe that failed to the next.
    public var probeInterval: Duration
    /// How the supervisor finds out by itself whether the app lives; nil when it relies on what the app says.
    public var livenessProbe: LivenessProbe?
    /// What happens when an allowance is exhausted.
    public var enforcement: Enforcement
    /// When a kill is put off.
    public var fairness: Fairness
    /// A main loop that takes longer than this for an answer hangs; Apple's tools use 250 ms.
    public var hangThreshold: Duration = .milliseconds(250)
    /// When a main loop that does not answer is looked at from outside, if half of its allowance is not earlier; other
    /// allowances are looked at from their half on.
    ///
    /// Nil: never.
    public var observationDelay: Duration?
    /// A main loop that takes longer than this for an answer, and then gives it, is worth a report; nil: none is.
    public var hangReportThreshold: Duration?
    /// Which ends that the watchdog does not bring about are worth a report; nil: none is.
    public var crashReports: CrashReports?
    /// Time for the stacks to be taken before the app is killed without them.
    public var captureBudget: Duration = .seconds(2)
    /// Time for a killed process tree to be gone before the survivors are reported as unkillable.
    public var deathBudget: Duration = .seconds(2)
    /// How long it may take for what on its way through the lifecycle.
    @Shared public var lifecycle = LifecycleAllowances()

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

    /// What the launch is over with, as people write it; nil where nothing is waited for.
    var awaited: String? {
        switch readiness {
        case .listening, .command: readinessTarget
        case .automatic, .channel, .notify: "READY=1"
        case .probe: livenessProbe?.target
        case .none: nil
        }
    }

    /// The same spec with its allowances and ping interval multiplied, so that a test can be quick without magic numbers.
    ///
    /// - Parameter factor: positive; a result never becomes shorter than a millisecond.
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
