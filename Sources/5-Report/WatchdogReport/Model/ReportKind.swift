// SPDX-License-Identifier: Apache-2.0

/// The cause of a report.
public enum ReportKind: String, Codable, Sendable, CaseIterable {
    /// An allowance was exhausted.
    case watchdog
    /// The main loop did not answer for a while and then recovered.
    case hang
    /// A user requested the stacks.
    case capture
    /// A signal killed the process or it exited, without a request.
    case crash

    /// Whether the process continued; Apple's readers then show that this is not a crash.
    var isSimulated: Bool { self == .hang || self == .capture }
}
