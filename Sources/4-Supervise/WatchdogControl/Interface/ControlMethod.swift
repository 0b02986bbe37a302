// SPDX-License-Identifier: Apache-2.0

/// A method of the service.
enum ControlMethod: String, CaseIterable {
    case getInfo = "org.varlink.service.GetInfo"
    case getInterfaceDescription = "org.varlink.service.GetInterfaceDescription"
    case list = "org.watchdogd.Supervisor.List"
    case describe = "org.watchdogd.Supervisor.Describe"
    case describeDaemon = "org.watchdogd.Supervisor.DescribeDaemon"
    case reports = "org.watchdogd.Supervisor.Reports"
    case metrics = "org.watchdogd.Supervisor.Metrics"
    case monitor = "org.watchdogd.Supervisor.Monitor"
    case launch = "org.watchdogd.Supervisor.Launch"
    case terminate = "org.watchdogd.Supervisor.Terminate"
    case restart = "org.watchdogd.Supervisor.Restart"
    case capture = "org.watchdogd.Supervisor.Capture"
    case foreground = "org.watchdogd.Supervisor.Foreground"
    case background = "org.watchdogd.Supervisor.Background"
    case suspend = "org.watchdogd.Supervisor.Suspend"
    case resume = "org.watchdogd.Supervisor.Resume"
    case sendEvent = "org.watchdogd.Supervisor.SendEvent"
    case reload = "org.watchdogd.Supervisor.Reload"
    case reloadApp = "org.watchdogd.Supervisor.ReloadApp"

    /// The right that the method requires.
    var right: ControlRight {
        switch self {
        case .getInfo, .getInterfaceDescription, .list, .describe, .describeDaemon, .monitor: .observe
        case .reports, .metrics: .inspect
        case .launch, .terminate, .restart, .capture, .reload, .reloadApp: .act
        case .foreground, .background, .suspend, .resume, .sendEvent: .act
        }
    }

    static func unknown(_ name: String) -> ControlError {
        guard let dot = name.lastIndex(of: ".") else { return .methodNotFound(name) }
        let interface = String(name[..<dot])
        return [ControlInterface.name, ControlInterface.serviceName].contains(interface)
            ? .methodNotFound(name) : .interfaceNotFound(interface)
    }
}

/// The parameters of a method.
public protocol ControlRequest: Codable, Hashable, Sendable {
    /// The names of all parameters; a call with any other parameter is rejected.
    static var parameterNames: Set<String> { get }
}

/// The parameters of a method's reply.
public protocol ControlReply: Codable, Hashable, Sendable {}

extension CaseIterable where Self: CodingKey {
    static var names: Set<String> { Set(allCases.map(\.stringValue)) }
}
