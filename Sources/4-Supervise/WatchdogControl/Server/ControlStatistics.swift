// SPDX-License-Identifier: Apache-2.0

/// The counters of a ``ControlServer``.
public struct ControlStatistics: Hashable, Sendable {
    /// The number of open connections.
    public internal(set) var open = 0
    /// The number of accepted connections.
    public internal(set) var accepted = 0
    /// The number of connections that were closed immediately because there were too many.
    public internal(set) var refused = 0
    /// The number of connections that were closed because replies were not read.
    public internal(set) var unread = 0
    /// The number of connections that were closed because they were idle.
    public internal(set) var silent = 0
    /// The number of connections that were closed because of an invalid message.
    public internal(set) var malformed = 0
    /// The number of valid calls.
    public internal(set) var calls = 0
    /// The number of calls with an error as the reply.
    public internal(set) var errors = 0
    /// The number of calls that the rate limit delayed.
    public internal(set) var throttled = 0
    /// The number of events that were dropped before a monitoring client had read them.
    public internal(set) var missedEvents = 0
}
