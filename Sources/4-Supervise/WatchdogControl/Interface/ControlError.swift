// SPDX-License-Identifier: Apache-2.0

/// The reason why a method failed.
public enum ControlError: Error, Hashable, Sendable {
    /// No app has this name; the server adds the most similar name if `suggestion` is nil.
    case noSuchApp(String, suggestion: String? = nil)
    /// The caller lacks a right, which root and the owner have.
    case notPermitted(ControlRight, user: UInt32, owner: UInt32)
    /// Files are invalid: those of the named app, which is therefore missing, or some of all apps' files, so that
    /// nothing was changed.
    case invalidConfiguration([ControlDiagnostic], app: String? = nil)
    /// The app is already running.
    case alreadyRunning(String, pid: Int32?)
    /// The app is not running.
    case notRunning(String)
    /// Processes of the app survive SIGKILL; no other instance is started.
    case unkillable(String, pid: Int32?)
    /// The app could not be started, or did not become ready.
    case launchFailed(String, reason: String)
    /// The capture failed, or the report could not be written.
    case captureFailed(String, reason: String)
    /// The app did not reload its own configuration.
    case reloadFailed(String, reason: String)
    /// The request does not apply to the app's state, or the app does not take part in the lifecycle.
    case refused(String, reason: String)
    /// Nothing in the app listens for the event of this kind, which is lost.
    case eventLost(String, kind: String)
    /// watchdogd is ending.
    case shuttingDown
    /// The limit of connections is reached.
    case tooManyConnections(limit: Int)
    /// The connection sent an invalid message, and was closed.
    case malformedMessage(reason: String)
    /// Another failure.
    case failed(reason: String)
    /// The interface has no such method.
    case methodNotFound(String)
    /// The service has no such interface.
    case interfaceNotFound(String)
    /// A parameter is missing, unknown or of the wrong kind.
    case invalidParameter(String)
    /// The method replies more than once, and must be called with `more`.
    case expectedMore
    /// An error that this version does not know.
    case other(name: String)
}

extension ControlError: CustomStringConvertible {
    /// One sentence without a period.
    public var description: String {
        switch self {
        case .noSuchApp(let name, let suggestion):
            "there is no app \"\(name)\"" + (suggestion.map { "; did you mean \"\($0)\"?" } ?? "")
        case .notPermitted(let right, let user, let owner):
            "not permitted: only root\(owner == 0 ? "" : " and user \(owner)") may \(right.deed); you are user \(user)"
        case .invalidConfiguration(let diagnostics, let app):
            ([
                app.map { "the configuration of \"\($0)\" is invalid; correct it, then use 'watchdogd reload'" }
                    ?? "the configuration is invalid; nothing was changed"
            ] + diagnostics.map(\.description)).joined(separator: "\n")
        case .alreadyRunning(let name, let pid): "\(name) is already running\(Self.words(pid))"
        case .notRunning(let name): "\(name) is not running"
        case .unkillable(let name, let pid):
            "processes of \(name) survived SIGKILL\(Self.words(pid)); no other instance is started beside them"
        case .launchFailed(let name, let reason): "\(name) was not launched: \(reason)"
        case .captureFailed(let name, let reason): "\(name) was not captured: \(reason)"
        case .reloadFailed(let name, let reason): "\(name) was not reloaded: \(reason)"
        case .refused(let name, let reason): "\(name) was not asked to \(reason)"
        case .eventLost(let name, let kind): "\(name) lost the event \(kind): nothing in it listens for that"
        case .shuttingDown: "watchdogd is shutting down"
        case .tooManyConnections(let limit): "watchdogd has \(limit) connections from you and accepts no more"
        case .malformedMessage(let reason): "watchdogd did not understand: \(reason)"
        case .failed(let reason): reason
        case .methodNotFound(let method): "watchdogd has no method \(method)"
        case .interfaceNotFound(let interface): "watchdogd has no interface \(interface)"
        case .invalidParameter(let parameter): "parameter \"\(parameter)\" is invalid"
        case .expectedMore: "the method replies more than once; call it with \"more\""
        case .other(let name): "watchdogd answered with \(name)"
        }
    }

    private static func words(_ pid: Int32?) -> String {
        pid.map { " (pid \($0))" } ?? ""
    }
}

extension ControlRight {
    /// As in "only root may *act on apps*".
    fileprivate var deed: String {
        switch self {
        case .observe: "look at apps"
        case .inspect: "see more than the names and states of apps (right \"inspect\")"
        case .act: "act on apps (right \"act\")"
        }
    }
}
