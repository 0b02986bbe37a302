// SPDX-License-Identifier: Apache-2.0

/// Why a process was terminated: a code in a namespace, as in `Termination Reason: WATCHDOG 2343432205`.
public struct TerminationCode: Hashable, Sendable, Codable {
    /// `WATCHDOG` for our own kills.
    public var namespace: String
    /// The code, printed in decimal in reports and in hexadecimal everywhere else.
    public var code: UInt64

    /// Creates a code in a namespace.
    public init(namespace: String, code: UInt64) {
        self.namespace = namespace
        self.code = code
    }

    /// 0x8badf00d: an allowance was exhausted.
    ///
    /// Source: Apple, "Understanding the exception types in a crash report", EXC_CRASH (SIGKILL).
    public static let ateBadFood = TerminationCode(namespace: "WATCHDOG", code: 0x8bad_f00d)
}
