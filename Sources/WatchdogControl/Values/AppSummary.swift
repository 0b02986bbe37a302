// SPDX-License-Identifier: Apache-2.0

/// One app in a list: its state and what led to it.
public struct AppSummary: Hashable, Sendable, Codable {
    /// The app's name.
    public var name: String
    /// `Description=` of its file.
    public var summary: String?
    /// The app's state.
    public var state: AppState
    /// Whether it is ready and owes no answer: to a ping, a probe, or a push of its own; nil if it is not ready.
    public var isAnswering: Bool?
    /// What keeps it from answering; nil if nothing is known to.
    public var silence: SilenceSummary?
    /// Whether anything can detect a hang of it: a probe, pings that it answers, or its own pushes; nil if it is not
    /// ready.
    public var isWatched: Bool?
    /// When it entered this state.
    public var since: Timestamp
    /// Its main process; nil if it is not running.
    public var pid: Int32?
    /// The directory of the cgroup that holds its processes, and no others; nil if there is none.
    public var cgroup: String?
    /// How long its process has been running; nil if it is not running.
    public var uptime: Microseconds?
    /// The number of restarts, whatever the cause.
    public var restarts: Int
    /// When it will be restarted; nil unless it is waiting for that.
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
