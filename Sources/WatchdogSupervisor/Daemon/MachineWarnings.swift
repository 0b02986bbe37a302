// SPDX-License-Identifier: Apache-2.0

public import WatchdogConfiguration
import WatchdogLinux

extension AppDefinition {
    /// What is written correctly and has no effect on this machine.
    public var machineWarnings: [ConfigurationDiagnostic] {
        guard let limits = configuration?.program.cgroupLimits, !limits.controllers.isEmpty else { return [] }
        let keys: [String: ConfigurationKey] = ["cpu": .cpuQuota, "memory": .memoryMax, "pids": .tasksMax]
        let present = CgroupParent.availableControllers
        return limits.controllers.filter { !present.contains($0) }.compactMap { controller in
            keys[controller].map {
                diagnostic(
                    .warning, about: $0, "without effect here: this machine's cgroup2 has no \(controller) controller")
            }
        }
    }
}
