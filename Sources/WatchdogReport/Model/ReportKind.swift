// SPDX-License-Identifier: Apache-2.0

/// What occasioned a report.
public enum ReportKind: String, Codable, Sendable, CaseIterable {
    /// An allowance was exhausted.
    case watchdog
    /// The main loop did not answer for a while, and then did.
    case hang
    /// Somebody asked for the stacks.
    case capture
    /// The process ended, by a signal or with an exit code, and nobody had asked it to.
    case crash

    /// Whether the process went on: Apple's readers are told that this is not a crash.
    var isSimulated: Bool { self == .hang || self == .capture }
}
