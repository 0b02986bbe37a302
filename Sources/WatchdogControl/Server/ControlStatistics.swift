// SPDX-License-Identifier: Apache-2.0

/// Counts of what a ``ControlServer`` has done so far.
public struct ControlStatistics: Hashable, Sendable {
    /// Open connections.
    public internal(set) var open = 0
    /// Accepted connections.
    public internal(set) var accepted = 0
    /// Connections closed immediately because there were too many.
    public internal(set) var refused = 0
    /// Connections closed because replies were not read.
    public internal(set) var unread = 0
    /// Connections closed because they were silent.
    public internal(set) var silent = 0
    /// Connections closed because of an invalid message.
    public internal(set) var malformed = 0
    /// Valid calls.
    public internal(set) var calls = 0
    /// Calls with an error as the reply.
    public internal(set) var errors = 0
    /// Calls delayed by the rate limit.
    public internal(set) var throttled = 0
    /// Events that were dropped before a monitoring client had read them.
    public internal(set) var missedEvents = 0
}
