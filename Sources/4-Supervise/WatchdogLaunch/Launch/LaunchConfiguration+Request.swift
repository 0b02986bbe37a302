// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

extension LaunchConfiguration {
    /// The app's descriptor for its channel: the first after the standard streams.
    private static let channelDescriptor: Int32 = 3
    /// Marks the processes of a launch, so that they are recognized even after all their ancestors are gone.
    package static let launchVariable = "WATCHDOG_LAUNCH_ID"

    /// The environment entry that marks the processes of a launch.
    static func marker(of launchID: IncidentID) -> String { "\(launchVariable)=\(launchID)" }

    /// The request that starts the program.
    package func request(channel appEnd: OwnedDescriptor?, notifyAddress: String) -> SpawnRequest {
        var request = SpawnRequest(
            executable: ByteString(executable), arguments: arguments, environment: environment(notifyAddress))
        if let streams { request.descriptors = streams.passed }
        attributes.apply(to: &request)
        if takesCrashStacks, ownCoreLimit == nil, let coreLimit { request.limits.append(coreLimit) }
        request.processIdVariables = [Wire.Environment.watchdogProcess]
        if let appEnd { request.descriptors.append(.init(appEnd, as: Self.channelDescriptor)) }
        request.workingDirectory = workingDirectory.map { ByteString($0) }
        request.credentials = credentials
        return request
    }

    private func environment(_ notifyAddress: String) -> Environment {
        var environment = environment
        environment[Self.launchVariable] = launchID.description
        environment[Wire.Environment.notifySocket] = notifyAddress
        environment[Wire.Environment.watchdogMicroseconds] = "\(spec.allowances.update.nanoseconds / 1_000)"
        let isHidden = spec.lifecycle.launchesInBackground
        environment[Wire.Environment.state] = isHidden ? Visibility.background.rawValue : nil
        if let launchingEvent { environment[Wire.Environment.event] = launchingEvent.kind }
        if attributes.allowsFaults { environment[Wire.Environment.faults] = "1" }
        environment[Wire.Environment.channel] = "\(Self.channelDescriptor)"
        return environment
    }
}
