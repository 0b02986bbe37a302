// SPDX-License-Identifier: Apache-2.0

/// What callers may cost.
public struct ControlLimits: Hashable, Sendable {
    /// The most connections at a time.
    public var connections = 64
    /// How many of them are kept for those who may act, so that others cannot shut them out.
    public var reservedConnections = 16
    /// The most connections of one user who may not act.
    public var connectionsPerUser = 16
    /// The most bytes of a call.
    public var messageBytes = 1 << 20
    /// The most bytes of a call of those who may not act: reading one holds up the loop, 0.3 ms for so many at worst.
    public var messageBytesOfOthers = 16 << 10
    /// When as many bytes wait to be read by a caller, it gets no more until it reads.
    public var outputBytes = 64 << 10
    /// How many calls a connection may make at once.
    public var callBurst = 200
    /// How many it may make in a second after that; further ones wait.
    public var callsPerSecond = 500
    /// How long a caller may leave its answer unread before its connection is closed.
    public var unreadPatience = Duration.seconds(30)
    /// How long a connection may be silent before it is closed; one that monitors, or waits for an answer, may be.
    public var silencePatience = Duration.seconds(300)
    /// How many events are kept for those who are late, or ask for the past.
    public var eventHistory = 1024
    /// How many pieces of a long reply are encoded before everybody else has a turn.
    public var piecesPerTurn = 8
    /// The most log lines that a description has.
    public var logLines = 200
    /// How many log lines a description has when the caller does not say.
    public var defaultLogLines = 10
    /// The most reports that a list has.
    public var reports = 1000

    /// Creates the limits of a watchdogd.
    public init() {}

    /// Whether one more connection may be had by a user.
    ///
    /// - Parameters:
    ///   - mayAct: Whether the user may act.
    ///   - all: How many connections there are.
    ///   - others: How many of them belong to users who may not act.
    ///   - own: How many of them belong to the user.
    func admits(mayAct: Bool, all: Int, others: Int, own: Int) -> Bool {
        guard all < connections else { return false }
        return mayAct || (others < connections - reservedConnections && own < connectionsPerUser)
    }
}
