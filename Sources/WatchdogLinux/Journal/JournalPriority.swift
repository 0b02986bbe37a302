// SPDX-License-Identifier: Apache-2.0

/// How important an entry is: the levels of syslog(3).
public enum JournalPriority: Int, Sendable {
    /// The system is unusable.
    case emergency = 0
    /// Somebody must act at once.
    case alert = 1
    /// What should never happen.
    case critical = 2
    /// Something failed.
    case error = 3
    /// Something may be about to fail.
    case warning = 4
    /// Normal, but worth a look.
    case notice = 5
    /// Normal.
    case info = 6
    /// For developers.
    case debug = 7
}
