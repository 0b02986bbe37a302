// SPDX-License-Identifier: Apache-2.0

/// The level of detail of a recording.
///
/// Each rung records less than the previous one, and needs fewer rights.
public enum Rung: String, Sendable, Codable, CaseIterable, Comparable {
    /// The scheduler's events of all CPUs, and breakpoints: every lane with its wakers.
    case a = "A"
    /// Per-task events of the program, and breakpoints: phases, objects, and lanes without wakers.
    case b = "B"
    /// Breakpoints by ptrace(2): phases only.
    case c = "C"
    /// Clocks and the program's own reports.
    case d = "D"

    /// Whether the left rung records more.
    public static func < (left: Rung, right: Rung) -> Bool { left.rawValue < right.rawValue }
}

/// An attempt to use a rung of the ladder.
public struct RungAttempt: Equatable, Sendable, Codable {
    /// The rung.
    public var rung: Rung
    /// Whether the recording used this rung.
    public var used: Bool
    /// The reason why the rung was not used, as a clause: "perf_event_open: permission denied (perf_event_paranoid is
    /// 2)".
    public var reason: String?
    /// The remedy, as a clause: "run as root".
    public var remedy: String?

    /// Creates an attempt.
    public init(rung: Rung, used: Bool, reason: String? = nil, remedy: String? = nil) {
        self.rung = rung
        self.used = used
        self.reason = reason
        self.remedy = remedy
    }
}
