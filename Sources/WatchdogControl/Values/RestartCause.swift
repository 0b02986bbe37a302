// SPDX-License-Identifier: Apache-2.0

/// Why an app was started again.
public struct RestartCause: RawRepresentable, Hashable, Sendable {
    /// The name in the interface.
    public let rawValue: String

    /// Creates a cause from its name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// It ended with exit code 0.
    public static let exit = RestartCause(rawValue: "exit")
    /// It ended with another exit code.
    public static let failure = RestartCause(rawValue: "failure")
    /// A signal ended it.
    public static let signal = RestartCause(rawValue: "signal")
    /// It was killed because an allowance was exhausted.
    public static let watchdog = RestartCause(rawValue: "watchdog")
    /// It could not be started.
    public static let spawn = RestartCause(rawValue: "spawn")
    /// Somebody wanted it.
    public static let request = RestartCause(rawValue: "request")
}
