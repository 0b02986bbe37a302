// SPDX-License-Identifier: Apache-2.0

/// How much a recording can see.
///
/// Each rung sees less than the one before it, and needs fewer rights.
public enum Rung: String, Sendable, Codable, CaseIterable, Comparable {
    /// The scheduler's events of all CPUs, and breakpoints: every lane with its wakers.
    case a = "A"
    /// The program's own events, and breakpoints: phases, objects, and lanes without wakers.
    case b = "B"
    /// Breakpoints by ptrace(2): phases only.
    case c = "C"
    /// Clocks and what the program reports itself.
    case d = "D"

    /// Whether the left rung sees more.
    public static func < (left: Rung, right: Rung) -> Bool { left.rawValue < right.rawValue }
}

/// Whether a rung of the ladder was reached.
public struct RungAttempt: Equatable, Sendable, Codable {
    /// What was tried.
    public var rung: Rung
    /// Whether the recording was made on this rung.
    public var used: Bool
    /// Why the rung was not used, as a clause: "perf_event_open: permission denied (perf_event_paranoid is 2)".
    public var reason: String?
    /// What would make it available, as a clause: "run as root".
    public var remedy: String?

    /// Creates an attempt.
    public init(rung: Rung, used: Bool, reason: String? = nil, remedy: String? = nil) {
        self.rung = rung
        self.used = used
        self.reason = reason
        self.remedy = remedy
    }
}
