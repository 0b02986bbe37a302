// SPDX-License-Identifier: Apache-2.0

/// The cause of a process's end.
public struct TerminationInfo: Codable, Equatable, Sendable {
    /// The code in its namespace.
    public var code: UInt64
    /// Bits of the kernel's `OS_REASON_FLAG_…`.
    public var flags: Int?
    /// The namespace of the code: `WATCHDOG`, `SIGNAL`.
    public var namespace: String
    /// The explanation, one line each.
    public var reasons: [String]?
    /// The code in words, for signals.
    public var indicator: String?
    /// The process that sent the signal.
    public var byProc: String?
    /// The ID of that process.
    public var byPid: Int?

    /// Write a report (2), and the decision came from user space (4).
    public static let watchdogFlags = 6

    /// Creates the values.
    public init(code: UInt64, flags: Int?, namespace: String, reasons: [String]? = nil) {
        self.code = code
        self.flags = flags
        self.namespace = namespace
        self.reasons = reasons
    }
}
