// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogLinux

/// The reason why a call failed.
public struct ControlClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failures.
    public enum Code: Hashable, Sendable {
        /// No watchdogd listens at the path.
        case notRunning
        /// This user may not connect.
        case notAllowedToConnect
        /// No reply arrived in time.
        case timedOut
        /// watchdogd closed the connection before it replied.
        case disconnected
        /// The reply is invalid.
        case notUnderstood
        /// watchdogd replied with an error.
        case refused(ControlError)
        /// A system call failed.
        case failed(LinuxError)
    }

    /// The kind of the failure.
    public let code: Code
    /// One line, or more if files are invalid; safe for a terminal.
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description.terminalLines.joined(separator: "\n")
    }

    /// watchdogd's error, if it replied with one.
    public var controlError: ControlError? {
        if case .refused(let error) = code { error } else { nil }
    }

    /// The directory of a user's watchdogd does not exist.
    public static let noUserPath = ControlClientError(.notRunning, ControlPath.noUserPath)

    static func refused(_ error: ControlError) -> ControlClientError {
        ControlClientError(.refused(error), error.description)
    }

    /// - Parameter isUnderSystemd: whether systemd runs and could start it; sd_booted(3) checks for the same folder.
    static func cannotConnect(
        _ error: Errno, _ place: ControlPath, isUnderSystemd: Bool = access("/run/systemd/system", F_OK) == 0
    ) -> ControlClientError {
        let command = place.startCommand.map { isUnderSystemd ? $0 : "watchdogd serve" }
        let start = command.map { "; start it with '\($0)'" } ?? ""
        switch error {
        case .noSuchFile:
            return ControlClientError(.notRunning, "watchdogd is not running: no socket at \(place.path)\(start)")
        case .connectionRefused:
            return ControlClientError(.notRunning, "watchdogd is not running: nothing listens at \(place.path)\(start)")
        case .permissionDenied, .notPermitted:
            return ControlClientError(
                .notAllowedToConnect, "you may not connect to watchdogd at \(place.path): permission denied")
        case .wouldBlock:
            return ControlClientError(.timedOut, "watchdogd does not answer at \(place.path): its queue is full")
        default:
            let error = LinuxError("connect to \(place.path)", error)
            return ControlClientError(.failed(error), error.description)
        }
    }
}

extension Errno {
    /// `ECONNREFUSED`: no process is listening.
    static let connectionRefused = Errno(rawValue: ECONNREFUSED)
}
