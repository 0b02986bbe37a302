// SPDX-License-Identifier: Apache-2.0

/// One app in a list: its state and the causes.
public struct AppSummary: Hashable, Sendable, Codable {
    /// The app's name.
    public var name: String
    /// `Description=` of its file.
    public var summary: String?
    /// The app's state.
    public var state: AppState
    /// Whether no answer to a ping or probe, and no push, is overdue; nil if the app is not ready.
    public var isAnswering: Bool?
    /// The reason why it does not answer; nil if it answers or the reason is unknown.
    public var silence: SilenceSummary?
    /// Whether anything can detect a hang of it: a probe, pings that it answers, or its own pushes; nil if it is not
    /// ready.
    public var isWatched: Bool?
    /// The start of this state.
    public var since: Timestamp
    /// Its main process; nil if it is not running.
    public var pid: Int32?
    /// The directory of the cgroup with its processes, and no others; nil without such a cgroup.
    public var cgroup: String?
    /// The time since the start of its process; nil if it is not running.
    public var uptime: Microseconds?
    /// The number of restarts, for any cause.
    public var restarts: Int
    /// The time of its next restart; nil unless it waits for one.
    public var nextLaunch: Timestamp?
    /// The latest incident, crash or failed launch.
    public var lastIncident: IncidentSummary?

    /// Creates a summary.
    public init(
        name: String, summary: String? = nil, state: AppState, isAnswering: Bool? = nil,
        silence: SilenceSummary? = nil, isWatched: Bool? = nil, since: Timestamp, pid: Int32? = nil,
        cgroup: String? = nil,
        uptime: Duration? = nil, restarts: Int = 0, nextLaunch: Timestamp? = nil, lastIncident: IncidentSummary? = nil
    ) {
        self.name = name
        self.summary = summary
        self.state = state
        self.isAnswering = isAnswering
        self.silence = silence
        self.isWatched = isWatched
        self.since = since
        self.pid = pid
        self.cgroup = cgroup
        self.uptime = uptime.map { Microseconds($0) }
        self.restarts = restarts
        self.nextLaunch = nextLaunch
        self.lastIncident = lastIncident
    }

    private enum CodingKeys: String, CodingKey {
        case name
        case summary = "description"
        case state
        case isAnswering
        case silence
        case isWatched
        case since = "sinceUSec"
        case pid
        case cgroup
        case uptime = "uptimeUSec"
        case restarts
        case nextLaunch = "nextLaunchUSec"
        case lastIncident
    }
}
