// SPDX-License-Identifier: Apache-2.0

/// The reason why a run did not start.
public struct RunError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The error: one sentence without a period, with the option or command and the remedy.
    public let description: String
    /// The exit code: 125 to 127 as in env(1), or one from sysexits.h.
    public let exitCode: Int32

    package init(_ description: String, exitCode: Int32) {
        self.description = description
        self.exitCode = exitCode
    }

    /// watchdogd itself failed.
    package static func internalFailure(_ description: String) -> RunError { RunError(description, exitCode: 125) }
    /// EX_USAGE.
    package static func usage(_ description: String) -> RunError { RunError(description, exitCode: 64) }
    /// EX_NOINPUT.
    package static func noInput(_ description: String) -> RunError { RunError(description, exitCode: 66) }
    /// EX_NOUSER.
    package static func noUser(_ description: String) -> RunError { RunError(description, exitCode: 67) }
    /// EX_UNAVAILABLE.
    package static func unavailable(_ description: String) -> RunError { RunError(description, exitCode: 69) }
    /// EX_OSERR.
    package static func systemFailure(_ description: String) -> RunError { RunError(description, exitCode: 71) }
    /// EX_CANTCREAT.
    package static func cannotCreate(_ description: String) -> RunError { RunError(description, exitCode: 73) }
    /// EX_NOPERM.
    package static func notPermitted(_ description: String) -> RunError { RunError(description, exitCode: 77) }
}
