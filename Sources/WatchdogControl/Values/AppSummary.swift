// SPDX-License-Identifier: Apache-2.0

/// One app in a list: its state and what led to it.
public struct AppSummary: Hashable, Sendable, Codable {
    /// The app's name.
    public var name: String
    /// `Description=` of its file.
    public var summary: String?
    /// Where it is in its life.
    public var state: AppState
    /// Since when it is there.
    public var since: Timestamp
    /// Its main process; nil when it does not run.
    public var pid: Int32?
    /// How long its process has been running; nil when it does not run.
    public var uptime: Microseconds?
    /// How often it was started again, whatever the cause.
    public var restarts: Int
    /// When it is going to be started again; nil unless it waits for that.
    public var nextLaunch: Timestamp?
    /// The latest thing that went wrong.
    public var lastIncident: IncidentSummary?

    /// Creates a summary.
    public init(
        name: String, summary: String? = nil, state: AppState, since: Timestamp, pid: Int32? = nil,
        uptime: Duration? = nil, restarts: Int = 0, nextLaunch: Timestamp? = nil, lastIncident: IncidentSummary? = nil
    ) {
        self.name = name
        self.summary = summary
        self.state = state
        self.since = since
        self.pid = pid
        self.uptime = uptime.map { Microseconds($0) }
        self.restarts = restarts
        self.nextLaunch = nextLaunch
        self.lastIncident = lastIncident
    }

    private enum CodingKeys: String, CodingKey {
        case name
        case summary = "description"
        case state
        case since = "sinceUSec"
        case pid
        case uptime = "uptimeUSec"
        case restarts
        case nextLaunch = "nextLaunchUSec"
        case lastIncident
    }
}
