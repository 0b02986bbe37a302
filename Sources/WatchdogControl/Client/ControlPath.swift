// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// The address of a watchdogd, and how to start it if it is not running.
public struct ControlPath: Hashable, Sendable {
    /// The socket's path.
    public let path: String
    /// The command to enter if nobody answers there; nil if unknown.
    public let startCommand: String?

    /// Creates an address with an unknown start command.
    public init(_ path: String) {
        self.init(path, startCommand: nil)
    }

    private init(_ path: String, startCommand: String?) {
        self.path = path
        self.startCommand = startCommand
    }

    /// The system's watchdogd: `/run/watchdogd/control`.
    public static let system = ControlPath("/run/watchdogd/control", startCommand: "systemctl start watchdogd")

    /// The user's own watchdogd: `$XDG_RUNTIME_DIR/watchdogd/control`; nil if there is no such directory.
    public static func user(environment: Environment = .inherited) -> ControlPath? {
        guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else { return nil }
        return ControlPath("\(directory)/watchdogd/control", startCommand: "systemctl --user start watchdogd")
    }

    /// Why a user's watchdogd has no address, and what to do about it.
    public static let noUserPath =
        "XDG_RUNTIME_DIR is not set, so there is no place for the control socket;"
        + " log in to a session, or set a path with --control"

    /// The mode of the socket: everyone may observe the system's apps, but only the user may observe a user's.
    public var socketMode: UInt32 { self == .system ? 0o666 : 0o600 }
}
