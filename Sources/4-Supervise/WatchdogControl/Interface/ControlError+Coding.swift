// SPDX-License-Identifier: Apache-2.0

extension ControlError {
    /// The union of the parameters of all errors.
    struct Parameters: Codable, Hashable {
        var name: String?
        var suggestion: String?
        var right: String?
        var user: UInt32?
        var owner: UInt32?
        var diagnostics: [ControlDiagnostic]?
        var pid: Int32?
        var reason: String?
        var limit: Int?
        var method: String?
        var interface: String?
        var parameter: String?
        var kind: String?
    }

    /// The name with the interface, for the message.
    var wireName: String {
        switch self {
        case .noSuchApp: "\(ControlInterface.name).NoSuchApp"
        case .notPermitted: "\(ControlInterface.name).NotPermitted"
        case .invalidConfiguration: "\(ControlInterface.name).InvalidConfiguration"
        case .alreadyRunning: "\(ControlInterface.name).AlreadyRunning"
        case .notRunning: "\(ControlInterface.name).NotRunning"
        case .unkillable: "\(ControlInterface.name).Unkillable"
        case .launchFailed: "\(ControlInterface.name).LaunchFailed"
        case .captureFailed: "\(ControlInterface.name).CaptureFailed"
        case .reloadFailed: "\(ControlInterface.name).ReloadFailed"
        case .refused: "\(ControlInterface.name).Refused"
        case .eventLost: "\(ControlInterface.name).EventLost"
        case .shuttingDown: "\(ControlInterface.name).ShuttingDown"
        case .tooManyConnections: "\(ControlInterface.name).TooManyConnections"
        case .malformedMessage: "\(ControlInterface.name).MalformedMessage"
        case .failed: "\(ControlInterface.name).Failed"
        case .methodNotFound: "\(ControlInterface.serviceName).MethodNotFound"
        case .interfaceNotFound: "\(ControlInterface.serviceName).InterfaceNotFound"
        case .invalidParameter: "\(ControlInterface.serviceName).InvalidParameter"
        case .expectedMore: "\(ControlInterface.serviceName).ExpectedMore"
        case .other(let name): name
        }
    }

    /// The parameters, for the message.
    var body: ReplyBody {
        switch self {
        case .invalidConfiguration(let diagnostics, let app):
            .members([.list("diagnostics", diagnostics), app.map { .value("name", $0) }])
        default: .whole(parameters)
        }
    }

    /// The parameters as one value.
    var parameters: Parameters {
        switch self {
        case .noSuchApp(let name, let suggestion): Parameters(name: name, suggestion: suggestion)
        case .notPermitted(let right, let user, let owner):
            Parameters(right: right.rawValue, user: user, owner: owner)
        case .invalidConfiguration(let diagnostics, let app): Parameters(name: app, diagnostics: diagnostics)
        case .alreadyRunning(let name, let pid), .unkillable(let name, let pid): Parameters(name: name, pid: pid)
        case .notRunning(let name): Parameters(name: name)
        case .launchFailed(let name, let reason), .captureFailed(let name, let reason),
            .reloadFailed(let name, let reason), .refused(let name, let reason):
            Parameters(name: name, reason: reason)
        case .eventLost(let name, let kind): Parameters(name: name, kind: kind)
        case .malformedMessage(let reason), .failed(let reason): Parameters(reason: reason)
        case .tooManyConnections(let limit): Parameters(limit: limit)
        case .methodNotFound(let method): Parameters(method: method)
        case .interfaceNotFound(let interface): Parameters(interface: interface)
        case .invalidParameter(let parameter): Parameters(parameter: parameter)
        case .shuttingDown, .expectedMore, .other: Parameters()
        }
    }

    /// Decodes an error; one with invalid parameters becomes ``other(name:)``.
    init(wireName: String, parameters: Parameters?) {
        let parameters = parameters ?? Parameters()
        self = Self.read(wireName, parameters) ?? .other(name: wireName)
    }

    private static func read(_ wireName: String, _ parameters: Parameters) -> ControlError? {
        guard let dot = wireName.lastIndex(of: ".") else { return nil }
        let error = wireName[wireName.index(after: dot)...]
        switch String(wireName[..<dot]) {
        case ControlInterface.name: return own(error, parameters)
        case ControlInterface.serviceName: return standard(error, parameters)
        default: return nil
        }
    }

    private static func own(_ error: Substring, _ parameters: Parameters) -> ControlError? {
        let reason = parameters.reason ?? "no reason was given"
        switch (error, parameters.name) {
        case ("NoSuchApp", let name?): return .noSuchApp(name, suggestion: parameters.suggestion)
        case ("AlreadyRunning", let name?): return .alreadyRunning(name, pid: parameters.pid)
        case ("NotRunning", let name?): return .notRunning(name)
        case ("Unkillable", let name?): return .unkillable(name, pid: parameters.pid)
        case ("LaunchFailed", let name?): return .launchFailed(name, reason: reason)
        case ("CaptureFailed", let name?): return .captureFailed(name, reason: reason)
        case ("ReloadFailed", let name?): return .reloadFailed(name, reason: reason)
        case ("Refused", let name?): return .refused(name, reason: reason)
        case ("EventLost", let name?): return .eventLost(name, kind: parameters.kind ?? "")
        case ("NotPermitted", _):
            guard let right = parameters.right.flatMap(ControlRight.init), let user = parameters.user,
                let owner = parameters.owner
            else { return nil }
            return .notPermitted(right, user: user, owner: owner)
        case ("InvalidConfiguration", let name):
            return .invalidConfiguration(parameters.diagnostics ?? [], app: name)
        case ("ShuttingDown", _): return .shuttingDown
        case ("TooManyConnections", _): return .tooManyConnections(limit: parameters.limit ?? 0)
        case ("MalformedMessage", _): return .malformedMessage(reason: reason)
        case ("Failed", _): return .failed(reason: reason)
        default: return nil
        }
    }

    private static func standard(_ error: Substring, _ parameters: Parameters) -> ControlError? {
        switch error {
        case "MethodNotFound": parameters.method.map { .methodNotFound($0) }
        case "InterfaceNotFound": parameters.interface.map { .interfaceNotFound($0) }
        case "InvalidParameter": parameters.parameter.map { .invalidParameter($0) }
        case "ExpectedMore": .expectedMore
        default: nil
        }
    }
}
