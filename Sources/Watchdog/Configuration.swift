// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import WatchdogWire

/// The supervisor of this process, and the socket that leads to it.
struct Configuration: Sendable {
    enum Transport: Sendable {
        /// watchdogd's channel, over which it pings.
        case channel(Descriptor)
        /// An sd_notify socket, to which signs of life are sent if an interval is requested.
        case notify(Descriptor, NotifyAddress, pushEvery: DispatchTimeInterval?)
        /// No supervisor.
        case none
    }

    var transport: Transport
    /// The cause and the initial state of the launch; the default without a channel.
    var launch = Application.LaunchOptions()
    /// Whether the supervisor may inject a hang of the main loop.
    var allowsFaults = false

    init(transport: Transport) {
        self.transport = transport
    }

    /// Reads the supervisor's variables, and removes the channel's from the environment: child processes must not
    /// mistake the channel for theirs.
    static func takeFromEnvironment() -> Configuration {
        let (channel, state, event, faults) = (
            takeVariable(Wire.Environment.channel),
            takeVariable(Wire.Environment.state),
            takeVariable(Wire.Environment.event),
            takeVariable(Wire.Environment.faults)
        )
        var configuration = Configuration(
            channel: channel,
            notifySocket: variable(Wire.Environment.notifySocket),
            watchdogMicroseconds: variable(Wire.Environment.watchdogMicroseconds),
            watchdogProcess: variable(Wire.Environment.watchdogProcess)
        )
        if case .channel = configuration.transport {
            configuration.launch.isInBackground = state == SupervisorMessage.Visibility.background.rawValue
            configuration.launch.eventKind = event
            configuration.allowsFaults = faults == "1"
        }
        return configuration
    }

    private static func takeVariable(_ name: String) -> String? {
        defer { unsetenv(name) }
        return variable(name)
    }

    /// The channel wins over the notify socket; an unusable value counts as absent.
    init(channel: String?, notifySocket: String?, watchdogMicroseconds: String?, watchdogProcess: String?) {
        if let number = channel.flatMap({ Int32($0) }), let channel = Descriptor.channel(inherited: number) {
            transport = .channel(channel)
        } else if let address = notifySocket.flatMap({ NotifyAddress($0) }), let socket = Self.datagramSocket() {
            let interval = Self.pushInterval(microseconds: watchdogMicroseconds, process: watchdogProcess)
            transport = .notify(socket, address, pushEvery: interval)
        } else {
            transport = .none
        }
    }

    /// Half of the allowance, as sd_watchdog_enabled(3) recommends; nil if `WATCHDOG_PID` names another process.
    private static func pushInterval(microseconds: String?, process: String?) -> DispatchTimeInterval? {
        guard let allowance = microseconds.flatMap({ Int64($0) }), allowance > 0 else { return nil }
        if let process, Int32(process) != getpid() { return nil }
        let (nanoseconds, overflow) = allowance.multipliedReportingOverflow(by: 500)
        return overflow ? nil : .nanoseconds(Int(nanoseconds))
    }

    private static func datagramSocket() -> Descriptor? {
        let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        return number < 0 ? nil : Descriptor(owning: number)
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
