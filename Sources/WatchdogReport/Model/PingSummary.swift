// SPDX-License-Identifier: Apache-2.0

/// The pings of one launch.
public struct PingSummary: Codable, Equatable, Sendable {
    /// How many were sent.
    public var sent: Int
    /// How many the main loop answered.
    public var answered: Int
    /// From the last answer to the report, in nanoseconds; nil when there was none.
    public var sinceLastAnswerNanoseconds: Int64?
    /// From the last one sent to the report, in nanoseconds; nil when there was none, or it is not known.
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
