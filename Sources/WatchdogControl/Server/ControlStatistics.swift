// SPDX-License-Identifier: Apache-2.0

/// What a ``ControlServer`` has done so far.
public struct ControlStatistics: Hashable, Sendable {
    /// Connections that are open.
    public internal(set) var open = 0
    /// Connections taken.
    public internal(set) var accepted = 0
    /// Connections closed at once because there were too many.
    public internal(set) var refused = 0
    /// Connections closed because answers were not read.
    public internal(set) var unread = 0
    /// Connections closed because they were silent.
    public internal(set) var silent = 0
    /// Connections closed because they carried what is not a call.
    public internal(set) var malformed = 0
    /// Calls understood.
    public internal(set) var calls = 0
    /// Calls answered with an error.
    public internal(set) var errors = 0
    /// Calls that had to wait because there were too many.
    public internal(set) var throttled = 0
    /// Events that were gone before a caller that monitors had read them.
    public internal(set) var missedEvents = 0
}
