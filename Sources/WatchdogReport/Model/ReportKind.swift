// SPDX-License-Identifier: Apache-2.0

/// Why a report was written.
public enum ReportKind: String, Codable, Sendable, CaseIterable {
    /// An allowance was exhausted.
    case watchdog
    /// The main loop did not answer for a while and then recovered.
    case hang
    /// Someone requested the stacks.
    case capture
    /// The process was killed by a signal or exited, and nobody had requested it.
    case crash

    /// Whether the process kept running; Apple's readers are then told that this is not a crash.
    var isSimulated: Bool { self == .hang || self == .capture }
}
