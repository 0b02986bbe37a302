// SPDX-License-Identifier: Apache-2.0

/// The reply to `DescribeDaemon`.
public struct DaemonReply: ControlReply {
    /// The version of watchdogd.
    public var version: String
    /// Its process id.
    public var pid: Int32
    /// The number of its apps.
    public var apps: Int
    /// The folder of its crash logs; nil if it keeps none, or the client may not inspect it.
    public var reports: String?
    /// The longest single iteration of its loop since its start.
    public var longestTurn: Microseconds
    /// The longest iteration in the last minute.
    public var recentTurn: Microseconds

    /// Creates a reply.
    public init(
        version: String, pid: Int32, apps: Int, reports: String? = nil, longestTurn: Microseconds,
        recentTurn: Microseconds
    ) {
        self.version = version
        self.pid = pid
        self.apps = apps
        self.reports = reports
        self.longestTurn = longestTurn
        self.recentTurn = recentTurn
    }

    private enum CodingKeys: String, CodingKey {
        case version, pid, apps, reports
        case longestTurn = "longestTurnUSec"
        case recentTurn = "recentTurnUSec"
    }
}
