// SPDX-License-Identifier: Apache-2.0

/// The conditions of a measurement, on which its results depend.
public struct MeasurementConditions: Codable, Equatable, Sendable {
    /// The kernel's release.
    public var kernel: String
    /// The operating system.
    public var system: String
    /// The model of the CPU.
    public var cpuModel: String
    /// The number of CPUs.
    public var cpus: Int
    /// watchdogd's version.
    public var watchdogd: String
    /// Whether the program's files were evicted before each run.
    public var isCold: Bool
    /// Whether the program had a network.
    public var hasNetwork: Bool
    /// The CPU quota in percent of one CPU; nil for none.
    public var cpuQuotaPercent: Double?
    /// The folder of which each run got a fresh copy; nil for none.
    public var data: String?
    /// The program's environment, without variables that differ between runs.
    public var environment: [String: String]

    /// Creates conditions.
    public init(
        kernel: String, system: String, cpuModel: String, cpus: Int, watchdogd: String, isCold: Bool = false,
        hasNetwork: Bool = true, cpuQuotaPercent: Double? = nil, data: String? = nil,
        environment: [String: String] = [:]
    ) {
        self.kernel = kernel
        self.system = system
        self.cpuModel = cpuModel
        self.cpus = cpus
        self.watchdogd = watchdogd
        self.isCold = isCold
        self.hasNetwork = hasNetwork
        self.cpuQuotaPercent = cpuQuotaPercent
        self.data = data
        self.environment = environment
    }

    /// The names of the differing conditions: "kernel", "environment variable LANG".
    public func differences(from other: MeasurementConditions) -> [String] {
        var names: [String] = []
        if kernel != other.kernel { names.append("kernel") }
        if system != other.system { names.append("system") }
        if cpuModel != other.cpuModel { names.append("CPU model") }
        if cpus != other.cpus { names.append("number of CPUs") }
        if hasNetwork != other.hasNetwork { names.append("network") }
        if cpuQuotaPercent != other.cpuQuotaPercent { names.append("CPU quota") }
        if (data == nil) != (other.data == nil) { names.append("data") }
        let variables = Set(environment.keys).union(other.environment.keys).sorted()
        names += variables.filter { environment[$0] != other.environment[$0] }.map { "environment variable \($0)" }
        return names
    }
}
