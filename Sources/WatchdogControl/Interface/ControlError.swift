// SPDX-License-Identifier: Apache-2.0

/// Why a method was not carried out, as the interface tells it.
public enum ControlError: Error, Hashable, Sendable {
    /// There is no app of this name. The server fills in the nearest name where there is none.
    case noSuchApp(String, suggestion: String? = nil)
    /// The caller lacks a right, which root and the owner have.
    case notPermitted(ControlRight, user: UInt32, owner: UInt32)
    /// Files cannot be used: those of one app, which therefore is not there, or some of all, and nothing was changed.
    case invalidConfiguration([ControlDiagnostic], app: String? = nil)
    /// The app runs.
    case alreadyRunning(String, pid: Int32?)
    /// The app does not run.
    case notRunning(String)
    /// Processes of the app outlive SIGKILL; no other instance is started beside them.
    case unkillable(String, pid: Int32?)
    /// The app could not be started, or did not become ready.
    case launchFailed(String, reason: String)
    /// The stacks could not be taken, or the report not be written.
    case captureFailed(String, reason: String)
    /// The app could not be made to read its own configuration again.
    case reloadFailed(String, reason: String)
    /// The app was not asked: it is not where the request makes sense, or takes no part in the lifecycle.
    case refused(String, reason: String)
    /// watchdogd is ending.
    case shuttingDown
    /// There are as many connections as are allowed.
    case tooManyConnections(limit: Int)
    /// The connection carried what is not a call, and is closed.
    case malformedMessage(reason: String)
    /// It failed for another reason.
    case failed(reason: String)
    /// The interface has no such method.
    case methodNotFound(String)
    /// There is no such interface.
    case interfaceNotFound(String)
    /// A parameter is missing, unknown or of the wrong kind.
    case invalidParameter(String)
    /// The method answers more than once, and has to be called so.
    case expectedMore
    /// An error that this version does not know.
    case other(name: String)
}

extension ControlError: CustomStringConvertible {
    /// One sentence without a final stop.
    public var description: String {
        switch self {
        case .noSuchApp(let name, let suggestion):
            "there is no app \"\(name)\"" + (suggestion.map { "; did you mean \"\($0)\"?" } ?? "")
        case .notPermitted(let right, let user, let owner):
            "not permitted: \(right.deed) is for root\(owner == 0 ? "" : " and user \(owner)"), and you are user \(user)"
        case .invalidConfiguration(let diagnostics, let app):
            ([
                app.map { "the configuration of \"\($0)\" is invalid; correct it, then use 'watchdogd reload'" }
                    ?? "the configuration is invalid; nothing was changed"
            ] + diagnostics.map(\.description)).joined(separator: "\n")
        case .alreadyRunning(let name, let pid): "\(name) runs already\(Self.words(pid))"
        case .notRunning(let name): "\(name) does not run"
        case .unkillable(let name, let pid):
            "processes of \(name) outlive SIGKILL\(Self.words(pid)); nothing is started beside them"
        case .launchFailed(let name, let reason): "\(name) was not launched: \(reason)"
        case .captureFailed(let name, let reason): "\(name) was not captured: \(reason)"
        case .reloadFailed(let name, let reason): "\(name) was not reloaded: \(reason)"
        case .refused(let name, let reason): "\(name) was not asked to \(reason)"
        case .shuttingDown: "watchdogd is ending"
        case .tooManyConnections(let limit): "watchdogd has \(limit) connections, and takes no more from you"
        case .malformedMessage(let reason): "watchdogd did not understand: \(reason)"
        case .failed(let reason): reason
        case .methodNotFound(let method): "watchdogd has no method \(method)"
        case .interfaceNotFound(let interface): "watchdogd has no interface \(interface)"
        case .invalidParameter(let parameter): "parameter \"\(parameter)\" is invalid"
        case .expectedMore: "the method answers more than once, and has to be called with \"more\""
        case .other(let name): "watchdogd answered with \(name)"
        }
    }

    private static func words(_ pid: Int32?) -> String {
        pid.map { " (pid \($0))" } ?? ""
    }
}

extension ControlRight {
    /// As in "*acting on apps* is for root".
    fileprivate var deed: String {
        switch self {
        case .observe: "looking at apps"
        case .readLogs: "reading what apps print"
        case .act: "acting on apps (right \"act\")"
        }
    }
}
