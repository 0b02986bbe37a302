// SPDX-License-Identifier: Apache-2.0

/// A method that can be called.
enum ControlMethod: String, CaseIterable {
    case getInfo = "org.varlink.service.GetInfo"
    case getInterfaceDescription = "org.varlink.service.GetInterfaceDescription"
    case list = "org.watchdogd.Supervisor.List"
    case describe = "org.watchdogd.Supervisor.Describe"
    case reports = "org.watchdogd.Supervisor.Reports"
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

    /// What a caller needs for it.
    var right: ControlRight {
        switch self {
        case .getInfo, .getInterfaceDescription, .list, .describe, .reports, .monitor: .observe
        case .launch, .terminate, .restart, .capture, .reload, .reloadApp: .act
        case .foreground, .background, .suspend, .resume, .sendEvent: .act
        }
    }

    /// The error for a name that is none of these.
    static func unknown(_ name: String) -> ControlError {
        guard let dot = name.lastIndex(of: ".") else { return .methodNotFound(name) }
        let interface = String(name[..<dot])
        return [ControlInterface.name, ControlInterface.serviceName].contains(interface)
            ? .methodNotFound(name) : .interfaceNotFound(interface)
    }
}
