// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogControl
public import WatchdogLinux

/// Where a daemon finds and leaves its files.
public struct DaemonPlaces: Hashable, Sendable {
    /// Whether it serves the machine or one user.
    public enum Scope: String, Hashable, Sendable {
        /// The machine: `/etc`, `/run`, `/var/log`.
        case system
        /// One user: the directories of the XDG Base Directory Specification.
        case user

        /// The machine for root, otherwise the user.
        public static var ofThisUser: Scope { geteuid() == 0 ? .system : .user }
    }

    /// Whom it serves.
    public var scope: Scope
    /// Where apps are configured.
    public var configurationDirectory: String
    /// The socket of the control interface.
    public var controlPath: ControlPath
    /// Where reports go.
    public var reportsDirectory: String

    /// The file of the launch history.
    public var historyPath: String

    /// The usual places: the machine's for root, else the user's.
    ///
    /// - Parameters:
    ///   - scope: Whom the daemon serves; nil for what fits the user.
    ///   - controlPath: The socket of the control interface; nil for the usual one.
    ///   - environment: The daemon's.
    /// - Throws: ``RunError`` (EX_UNAVAILABLE) when a user's daemon has no runtime directory for its socket.
    public init(
        scope: Scope? = nil, controlPath: ControlPath? = nil, environment: Environment = .inherited
    ) throws(RunError) {
        self.scope = scope ?? .ofThisUser
        switch self.scope {
        case .system:
            configurationDirectory = "/etc/watchdogd/apps.d"
            self.controlPath = controlPath ?? .system
            reportsDirectory = "/var/log/watchdogd/reports"
        case .user:
            guard let path = controlPath ?? ControlPath.user(environment: environment) else {
                throw RunError.unavailable(ControlPath.noUserPath)
            }
            configurationDirectory = Self.directory("XDG_CONFIG_HOME", ".config", environment) + "/watchdogd/apps.d"
            self.controlPath = path
            reportsDirectory = Self.directory("XDG_STATE_HOME", ".local/state", environment) + "/watchdogd/reports"
        }
        historyPath = Self.historyPath(of: self.scope, environment: environment)
    }

    /// The file of the launch history; reading it takes neither a daemon nor a runtime directory.
    ///
    /// - Parameters:
    ///   - scope: Whom the daemon that writes it serves.
    ///   - environment: The user's.
    public static func historyPath(of scope: Scope = .ofThisUser, environment: Environment = .inherited) -> String {
        switch scope {
        case .system: "/var/lib/watchdogd/history.db"
        case .user: directory("XDG_STATE_HOME", ".local/state", environment) + "/watchdogd/history.db"
        }
    }

    private static func directory(_ variable: String, _ standard: String, _ environment: Environment) -> String {
        if let path = environment[variable], path.hasPrefix("/") { return path }
        return "\(environment.home)/\(standard)"
    }
}
