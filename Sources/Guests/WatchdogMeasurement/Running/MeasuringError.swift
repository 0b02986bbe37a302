// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// The reason why a measurement failed.
public struct MeasuringError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The error: one sentence without a period, with the option or program and the remedy.
    public let description: String
    /// The exit code, from sysexits.h, or 130 after an interruption.
    public let exitCode: Int32

    /// Creates an error.
    public init(_ description: String, exitCode: Int32) {
        self.description = description
        self.exitCode = exitCode
    }

    /// EX_NOINPUT: a file or program does not exist or cannot be read.
    static func noInput(_ description: String) -> MeasuringError { MeasuringError(description, exitCode: 66) }
    /// EX_NOPERM, or EX_NOINPUT: a program that this user cannot find or execute.
    static func lookup(_ error: ExecutableLookupError) -> MeasuringError {
        MeasuringError(error.description, exitCode: error.sysexit)
    }
    /// EX_NOINPUT, EX_NOPERM, EX_DATAERR, or EX_OSERR: a program that cannot be executed, or whose process cannot be
    /// created.
    static func spawn(_ error: SpawnError, of name: String) -> MeasuringError {
        MeasuringError("\(name): \(error)", exitCode: error.sysexit)
    }
    /// EX_UNAVAILABLE: this machine does not support an option.
    static func unavailable(_ description: String) -> MeasuringError { MeasuringError(description, exitCode: 69) }
    /// EX_SOFTWARE: the measured program failed.
    static func program(_ description: String) -> MeasuringError { MeasuringError(description, exitCode: 70) }
    /// EX_OSERR: a system call failed.
    static func refused(_ description: String) -> MeasuringError { MeasuringError(description, exitCode: 71) }
    /// 128 + SIGINT, as in shells.
    static let interrupted = MeasuringError("interrupted; the program was killed", exitCode: 130)
}
