// SPDX-License-Identifier: Apache-2.0

/// The facts about the machine in reports.
public struct HostFacts: Equatable, Sendable {
    /// `PRETTY_NAME` of os-release(5): `Debian GNU/Linux 12 (bookworm)`.
    public var osName: String
    /// The kernel release: uname(2).
    public var kernelRelease: String
    /// The machine model, such as the contents of `/sys/class/dmi/id/product_name`.
    public var machineModel: String
    /// The host name.
    public var hostName: String
    /// Seconds since boot.
    public var uptimeSeconds: Int64
    /// 40 hexadecimal digits derived from machine-id(5) by a keyed hash; never the ID itself.
    public var crashReporterKey: String
    /// CPUs online.
    public var processorCount: Int
    /// The orchestrator's names for the place of the app; nil without an orchestrator.
    public var workload: WorkloadDetails?

    /// Creates the facts; texts are cut when a report is built.
    public init(
        osName: String, kernelRelease: String, machineModel: String, hostName: String, uptimeSeconds: Int64,
        crashReporterKey: String, processorCount: Int, workload: WorkloadDetails? = nil
    ) {
        self.osName = osName
        self.kernelRelease = kernelRelease
        self.machineModel = machineModel
        self.hostName = hostName
        self.uptimeSeconds = uptimeSeconds
        self.crashReporterKey = crashReporterKey
        self.processorCount = processorCount
        self.workload = workload
    }
}
