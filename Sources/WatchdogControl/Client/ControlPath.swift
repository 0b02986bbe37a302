// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// Where a watchdogd is reached, and how it is started when it is not there.
public struct ControlPath: Hashable, Sendable {
    /// The socket's path.
    public let path: String
    /// What to type when nobody answers there; nil when that is not known.
    public let startCommand: String?

    /// Creates a place of which only the path is known.
    public init(_ path: String) {
        self.init(path, startCommand: nil)
    }

    private init(_ path: String, startCommand: String?) {
        self.path = path
        self.startCommand = startCommand
    }

    /// The machine's watchdogd: `/run/watchdogd/control`.
    public static let system = ControlPath("/run/watchdogd/control", startCommand: "systemctl start watchdogd")

    /// The user's own watchdogd: `$XDG_RUNTIME_DIR/watchdogd/control`; nil when there is no such directory.
    public static func user(environment: Environment = .inherited) -> ControlPath? {
        guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else { return nil }
        return ControlPath("\(directory)/watchdogd/control", startCommand: "systemctl --user start watchdogd")
    }

    /// Why there is no place of the user's own, and what to do about it.
    public static let noUserPath =
        "XDG_RUNTIME_DIR is not set, so that there is no place for the control socket;"
        + " log in through a session, or name a path with --control"

    /// The mode of the socket: everybody may look at the machine's apps, nobody else at a user's.
    public var socketMode: UInt32 { self == .system ? 0o666 : 0o600 }
}
