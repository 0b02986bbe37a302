// SPDX-License-Identifier: Apache-2.0

/// The details of an app beyond its summary.
public struct AppDetails: Hashable, Sendable, Codable {
    /// The file that the app was read from.
    public var file: String?
    /// Whether an exhausted allowance kills the app, or is only reported.
    public var isEnforced: Bool
    /// The allowances in force.
    public var allowances: AllowanceSummary
    /// How the latest launch went; nil until it is complete.
    public var launch: LaunchSummary?
    /// The number of restarts by cause: `RestartSettings.Cause`, or `request`.
    public var restartsByCause: [String: Int]
    /// The restart limit that keeps it down or delays its next launch.
    public var reachedLimit: LimitSummary?
    /// Round trips of pings.
    public var pings: LatencySummary
    /// Durations of successful liveness probes; nil for an app that is not probed.
    public var probes: LatencySummary?
    /// Liveness probes of this launch that failed while the app was ready; nil for an app that is not probed.
    public var failedProbes: Int?
    /// When the app last answered a ping or a probe, or pushed; nil if it has not since its launch.
    public var lastAnswer: Timestamp?
    /// Why the app cannot be probed; nil if it can.
    public var probeRefusal: String?
    /// The setting or option that would watch the app for hangs; nil if something does.
    public var probeAdvice: String?
    /// Answers that came late without exhausting the allowance.
    public var hangs: LatencySummary
    /// Answers to no ping.
    public var strayAnswers: Int
    /// How its previous process ended: "exited with code 1".
    public var lastExit: String?
    /// The latest `STATUS=` of the app.
    public var status: String?
    /// Its lifecycle state: foreground, background or suspended; nil if it is not running.
    public var lifecycle: String?
    /// Where its standard output goes: "journal", "inherit", "null" or the path of a file.
    public var output: String?
    /// What its reports would lack now, in one phrase each: "no stacks: 2 earlier captures of this app have not returned".
    public var reportGaps: [String]?

    /// Creates details.
    public init(
        file: String? = nil, isEnforced: Bool = true, allowances: AllowanceSummary, launch: LaunchSummary? = nil,
        restartsByCause: [String: Int] = [:], reachedLimit: LimitSummary? = nil,
        pings: LatencySummary = LatencySummary(), probes: LatencySummary? = nil, failedProbes: Int? = nil,
        lastAnswer: Timestamp? = nil, probeRefusal: String? = nil, probeAdvice: String? = nil,
        hangs: LatencySummary = LatencySummary(),
        strayAnswers: Int = 0, lastExit: String? = nil, status: String? = nil, lifecycle: String? = nil,
        output: String? = nil, reportGaps: [String]? = nil
    ) {
        self.file = file
        self.isEnforced = isEnforced
        self.allowances = allowances
        self.launch = launch
        self.restartsByCause = restartsByCause
        self.reachedLimit = reachedLimit
        self.pings = pings
        self.probes = probes
        self.failedProbes = failedProbes
        self.lastAnswer = lastAnswer
        self.probeRefusal = probeRefusal
        self.probeAdvice = probeAdvice
        self.hangs = hangs
        self.strayAnswers = strayAnswers
        self.lastExit = lastExit
        self.status = status
        self.lifecycle = lifecycle
        self.output = output
        self.reportGaps = reportGaps.flatMap { $0.isEmpty ? nil : $0 }
    }

    private enum CodingKeys: String, CodingKey {
        case file
        case isEnforced
        case allowances
        case launch
        case restartsByCause
        case reachedLimit
        case pings
        case probes
        case failedProbes
        case lastAnswer = "lastAnswerUSec"
        case probeRefusal
        case probeAdvice
        case hangs
        case strayAnswers
        case lastExit
        case status
        case lifecycle
        case output
        case reportGaps
    }
}
