// SPDX-License-Identifier: Apache-2.0

/// What is told of an app beyond its summary.
public struct AppDetails: Hashable, Sendable, Codable {
    /// The file that it was read from.
    public var file: String?
    /// Whether it is killed when an allowance is exhausted, or only reported.
    public var isEnforced: Bool
    /// The allowances in force.
    public var allowances: AllowanceSummary
    /// How the latest launch went; nil before it is over.
    public var launch: LaunchSummary?
    /// How often it was started again, by cause: `RestartSettings.Cause`, or `request`.
    public var restartsByCause: [String: Int]
    /// The limit that keeps it down, or its next launch away.
    public var reachedLimit: LimitSummary?
    /// Round trips of pings.
    public var pings: LatencySummary
    /// Times that liveness probes took, as far as they succeeded; nil of an app that is not probed.
    public var probes: LatencySummary?
    /// Why the app cannot be probed; nil when it can.
    public var probeRefusal: String?
    /// Answers that came late without exhausting the allowance.
    public var hangs: LatencySummary
    /// Answers to no ping.
    public var strayAnswers: Int
    /// How its previous process ended: "exited with code 1".
    public var lastExit: String?
    /// The app's own latest words: `STATUS=`.
    public var status: String?
    /// Where it is between foreground, background and suspension; nil when it does not run.
    public var lifecycle: String?
    /// Where its standard output goes: "journal", "inherit", "null" or the path of a file.
    public var output: String?

    /// Creates details.
    public init(
        file: String? = nil, isEnforced: Bool = true, allowances: AllowanceSummary, launch: LaunchSummary? = nil,
        restartsByCause: [String: Int] = [:], reachedLimit: LimitSummary? = nil,
        pings: LatencySummary = LatencySummary(), probes: LatencySummary? = nil, probeRefusal: String? = nil,
        hangs: LatencySummary = LatencySummary(), strayAnswers: Int = 0, lastExit: String? = nil, status: String? = nil,
        lifecycle: String? = nil, output: String? = nil
    ) {
        self.file = file
        self.isEnforced = isEnforced
        self.allowances = allowances
        self.launch = launch
        self.restartsByCause = restartsByCause
        self.reachedLimit = reachedLimit
        self.pings = pings
        self.probes = probes
        self.probeRefusal = probeRefusal
        self.hangs = hangs
        self.strayAnswers = strayAnswers
        self.lastExit = lastExit
        self.status = status
        self.lifecycle = lifecycle
        self.output = output
    }
}
