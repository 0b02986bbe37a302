// SPDX-License-Identifier: Apache-2.0

/// The pings of one launch.
public struct PingSummary: Codable, Equatable, Sendable {
    /// The number of sent pings.
    public var sent: Int
    /// The number of pings that the main loop answered.
    public var answered: Int
    /// The time from the last answer to the report, in nanoseconds; nil without one.
    public var sinceLastAnswerNanoseconds: Int64?
    /// The time from the last ping to the report, in nanoseconds; nil without one, or if the time is unknown.
    public var sinceLastPingNanoseconds: Int64?
    /// The time of the slowest answer, in nanoseconds; nil without one.
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
