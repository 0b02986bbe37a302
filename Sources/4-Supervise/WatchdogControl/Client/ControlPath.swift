// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// The address of a watchdogd, and how to start it if it is not running.
public struct ControlPath: Hashable, Sendable {
    /// The socket's path.
    public let path: String
    /// The command that starts this watchdogd; nil if unknown.
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

    /// The error text for a user without a runtime directory, with the remedy.
    public static let noUserPath =
        "XDG_RUNTIME_DIR is not set, so there is no place for the control socket;"
        + " log in to a session, or set a path with --control"

    /// The mode of the socket: all users may observe the system's apps, but only the user may observe a user's apps.
    public var socketMode: UInt32 { self == .system ? 0o666 : 0o600 }
}
