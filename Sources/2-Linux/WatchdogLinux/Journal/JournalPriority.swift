// SPDX-License-Identifier: Apache-2.0

/// The priority of an entry: the levels of syslog(3).
public enum JournalPriority: Int, Sendable {
    /// The system is unusable.
    case emergency = 0
    /// Action must be taken immediately.
    case alert = 1
    /// A critical condition, which should never happen.
    case critical = 2
    /// Something failed.
    case error = 3
    /// Something may be about to fail.
    case warning = 4
    /// Normal, but significant.
    case notice = 5
    /// Normal.
    case info = 6
    /// For debugging.
    case debug = 7
}
