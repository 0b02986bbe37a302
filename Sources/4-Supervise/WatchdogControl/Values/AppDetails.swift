// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// The details of an app beyond its summary.
public struct AppDetails: Hashable, Sendable, Codable {
    /// The app's file.
    public var file: String?
    /// Whether an exhausted allowance kills the app, or is only reported.
    public var isEnforced: Bool
    /// The allowances in force.
    public var allowances: AllowanceSummary
    /// The latest launch; nil until it is complete.
    public var launch: LaunchSummary?
    /// The event that the latest launch was made for, and what became of it, in one line; nil for other launches.
    public var launchedFor: String?
    /// The number of restarts by cause: `RestartSettings.Cause`, or `request`.
    public var restartsByCause: [String: Int]
    /// The restart limit that prevents or delays its next launch; nil if none does.
    public var reachedLimit: LimitSummary?
    /// Round trips of pings.
    public var pings: LatencySummary
    /// Durations of successful liveness probes; nil for an app that is not probed.
    public var probes: LatencySummary?
    /// Liveness probes of this launch that failed while the app was ready; nil for an app that is not probed.
    public var failedProbes: Int?
    /// The time of the latest answer to a ping or probe, or push; nil without one since the launch.
    public var lastAnswer: Timestamp?
    /// The reason why the app cannot be probed; nil if it can.
    public var probeRefusal: String?
    /// The setting or option that would detect hangs of the app; nil if hangs are detected.
    public var probeAdvice: String?
    /// Answers that came late without exhausting the allowance.
    public var hangs: LatencySummary
    /// The number of answers that match no ping.
    public var strayAnswers: Int
    /// The end of its previous process: "exited with code 1".
    public var lastExit: String?
    /// The latest `STATUS=` of the app.
    public var status: String?
    /// Its lifecycle state: foreground, background or suspended; nil if it is not running.
    public var lifecycle: String?
    /// The destination of its standard output: "journal", "inherit", "null" or the path of a file.
    public var output: String?
    /// The parts that its reports would lack now, one phrase each: "no stacks: 2 earlier captures of this app have not
    /// returned".
    public var reportGaps: [String]?

    /// Creates details.
    public init(
        file: String? = nil, isEnforced: Bool = true, allowances: AllowanceSummary, launch: LaunchSummary? = nil,
        launchedFor: String? = nil, restartsByCause: [String: Int] = [:], reachedLimit: LimitSummary? = nil,
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
        self.launchedFor = launchedFor
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
        case launchedFor
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

/// The allowances in force for an app.
public struct AllowanceSummary: Hashable, Sendable, Codable {
    /// The allowance from `execve` to ready.
    public var launch: Microseconds
    /// The allowance of an answer of the main loop.
    public var update: Microseconds
    /// The allowance from the request to exit to the end of the process.
    public var terminate: Microseconds

    /// Converts the policy's allowances.
    public init(_ allowances: Allowances) {
        launch = Microseconds(allowances.launch)
        update = Microseconds(allowances.update)
        terminate = Microseconds(allowances.terminate)
    }

    private enum CodingKeys: String, CodingKey {
        case launch = "launchUSec"
        case update = "updateUSec"
        case terminate = "terminateUSec"
    }
}
