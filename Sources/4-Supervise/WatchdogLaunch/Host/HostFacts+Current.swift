// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
package import WatchdogReport

extension HostFacts {
    /// The machine that watchdogd runs on.
    package static func current() -> HostFacts {
        HostFacts(
            osName: Machine.systemName,
            kernelRelease: Machine.kernelRelease,
            machineModel: Machine.hardwareModel ?? "unknown",
            hostName: Machine.hostName,
            uptimeSeconds: Machine.uptime.components.seconds,
            crashReporterKey: crashReporterKey,
            processorCount: Machine.processorCount,
            workload: .current
        )
    }

    /// Apple's key has 40 hexadecimal digits; ours derives from the machine id, which has 32.
    private static var crashReporterKey: String {
        let digits = Machine.identifier ?? ""
        return digits + String(repeating: "0", count: max(0, 40 - digits.utf8.count))
    }
}

extension WorkloadDetails {
    /// The facts in watchdogd's environment.
    package static var current: WorkloadDetails? {
        let environment = Environment.inherited
        return WorkloadDetails { environment[$0] }
    }
}
