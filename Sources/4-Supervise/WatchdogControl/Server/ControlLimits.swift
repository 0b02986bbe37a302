// SPDX-License-Identifier: Apache-2.0

/// The limits on the resources of clients.
public struct ControlLimits: Hashable, Sendable {
    /// The maximum number of connections.
    public var connections = 64
    /// The number of them that is reserved for users who may act, so that others cannot lock them out.
    public var reservedConnections = 16
    /// The maximum number of connections per user who may not act.
    public var connectionsPerUser = 16
    /// The maximum length of a call, in bytes.
    public var messageBytes = 1 << 20
    /// The maximum length of a call from users who may not act, in bytes: parsing one of this length blocks the loop
    /// for at most 0.3 ms.
    public var messageBytesOfOthers = 16 << 10
    /// At this many unread bytes, a client receives nothing more until it reads.
    public var outputBytes = 64 << 10
    /// The maximum number of calls of a connection that are in progress at once; later ones wait in the socket.
    ///
    /// Each may hold a pending reply of 200 log lines in memory.
    public var callsInProgress = 256
    /// The maximum number for users who may not act.
    public var callsInProgressOfOthers = 16
    /// The number of calls that a connection may make in a burst.
    ///
    /// High enough that a script that launches every app is never delayed by this limit.
    public var callBurst = 20_000
    /// The number of calls per second after that; further calls wait.
    public var callsPerSecond = 5_000
    /// The number of calls in a burst of users who may not act.
    public var callBurstOfOthers = 200
    /// The number of calls per second of users who may not act, after the burst.
    public var callsPerSecondOfOthers = 500
    /// The time after which a connection with an unread reply is closed.
    public var unreadPatience = Duration.seconds(30)
    /// The time after which an idle connection is closed, unless it monitors or awaits a reply.
    public var silencePatience = Duration.seconds(300)
    /// The number of events kept for slow clients and for requests for past events.
    public var eventHistory = 1024
    /// The number of parts of a long reply that are encoded per turn, before other connections get theirs.
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
    ///   - others: the number of them of users who may not act.
    ///   - own: the number of them of this user.
    func admits(mayAct: Bool, all: Int, others: Int, own: Int) -> Bool {
        guard all < connections else { return false }
        return mayAct || (others < connections - reservedConnections && own < connectionsPerUser)
    }
}
