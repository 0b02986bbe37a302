// SPDX-License-Identifier: Apache-2.0

/// The pings of one launch.
public struct PingSummary: Codable, Equatable, Sendable {
    /// How many pings were sent.
    public var sent: Int
    /// How many pings the main loop answered.
    public var answered: Int
    /// The time from the last answer to the report, in nanoseconds; nil when there was none.
    public var sinceLastAnswerNanoseconds: Int64?
    /// The time from the last ping to the report, in nanoseconds; nil when there was none or the time is unknown.
    public var sinceLastPingNanoseconds: Int64?
    /// The slowest answer, in nanoseconds; nil when there was none.
    public var slowestNanoseconds: Int64?

    /// Creates the values.
    public init(
        sent: Int, answered: Int, sinceLastAnswerNanoseconds: Int64? = nil, sinceLastPingNanoseconds: Int64? = nil,
        slowestNanoseconds: Int64? = nil
    ) {
        self.sent = sent
        self.answered = answered
        self.sinceLastAnswerNanoseconds = sinceLastAnswerNanoseconds
        self.sinceLastPingNanoseconds = sinceLastPingNanoseconds
        self.slowestNanoseconds = slowestNanoseconds
    }
}
