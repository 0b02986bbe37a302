// SPDX-License-Identifier: Apache-2.0

/// The limits on what clients may use.
public struct ControlLimits: Hashable, Sendable {
    /// The maximum number of connections.
    public var connections = 64
    /// How many of them are reserved for users who may act, so that others cannot lock them out.
    public var reservedConnections = 16
    /// The maximum number of connections per user who may not act.
    public var connectionsPerUser = 16
    /// The maximum length of a call, in bytes.
    public var messageBytes = 1 << 20
    /// The maximum length of a call from users who may not act, in bytes: reading one of this length delays the loop by
    /// at most 0.3 ms.
    public var messageBytesOfOthers = 16 << 10
    /// At this many unread bytes, a client receives nothing more until it reads.
    public var outputBytes = 64 << 10
    /// The maximum number of calls of a connection that are in progress at once; those behind them wait in the connection.
    ///
    /// A call in progress may hold a reply of 200 log lines that waits for its turn.
    public var callsInProgress = 256
    /// The same for users who may not act.
    public var callsInProgressOfOthers = 16
    /// The number of calls that a connection may make in a burst.
    ///
    /// A script that launches every app waits for each answer; it must not wait for this limit as well.
    public var callBurst = 20_000
    /// The number of calls per second after that; further calls wait.
    public var callsPerSecond = 5_000
    /// The same limits for users who may not act.
    public var callBurstOfOthers = 200
    /// The number of calls per second of users who may not act, after the burst.
    public var callsPerSecondOfOthers = 500
    /// A connection is closed when a client leaves a reply unread for this long.
    public var unreadPatience = Duration.seconds(30)
    /// A connection is closed when it is silent for this long, unless it monitors or waits for a reply.
    public var silencePatience = Duration.seconds(300)
    /// The number of events kept for slow clients and for requests for past events.
    public var eventHistory = 1024
    /// The number of parts of a long reply that are encoded before others have a turn.
    public var piecesPerTurn = 8
    /// The maximum number of log lines in a description.
    public var logLines = 200
    /// The default number of log lines in a description.
    public var defaultLogLines = 10
    /// The maximum number of reports in a list.
    public var reports = 1000

    /// Creates the default limits.
    public init() {}

    /// Whether a user may have another connection.
    ///
    /// - Parameters:
    ///   - mayAct: whether the user may act.
    ///   - all: the number of connections.
    ///   - others: how many of them belong to users who may not act.
    ///   - own: how many of them belong to the user.
    func admits(mayAct: Bool, all: Int, others: Int, own: Int) -> Bool {
        guard all < connections else { return false }
        return mayAct || (others < connections - reservedConnections && own < connectionsPerUser)
    }
}
