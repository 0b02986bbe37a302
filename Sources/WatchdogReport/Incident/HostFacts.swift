// SPDX-License-Identifier: Apache-2.0

/// The machine, as far as reports name it.
public struct HostFacts: Equatable, Sendable {
    /// `PRETTY_NAME` of os-release(5): `Debian GNU/Linux 12 (bookworm)`.
    public var osName: String
    /// The kernel's release, uname(2).
    public var kernelRelease: String
    /// The machine's model, such as `/sys/class/dmi/id/product_name`.
    public var machineModel: String
    /// The machine's name in the network.
    public var hostName: String
    /// Seconds since it started.
    public var uptimeSeconds: Int64
    /// 40 hexadecimal digits derived from machine-id(5) by a keyed hash, never the id itself.
    public var crashReporterKey: String
    /// CPUs online.
    public var processorCount: Int

    /// Creates the facts.
    public init(
        osName: String, kernelRelease: String, machineModel: String, hostName: String, uptimeSeconds: Int64,
        crashReporterKey: String, processorCount: Int
    ) {
        self.osName = osName
        self.kernelRelease = kernelRelease
        self.machineModel = machineModel
        self.hostName = hostName
        self.uptimeSeconds = uptimeSeconds
        self.crashReporterKey = crashReporterKey
        self.processorCount = processorCount
    }
}
