// SPDX-License-Identifier: Apache-2.0

/// What an app has used since its launch.
public struct ResourceUse: Hashable, Sendable, Codable {
    /// CPU time of all its processes.
    public var cpuTime: Duration
    /// Time in which its main thread was runnable without a CPU.
    public var runDelay: Duration

    private enum CodingKeys: String, CodingKey { case cpuTime, runDelay }

    /// Creates a measurement.
    public init(cpuTime: Duration, runDelay: Duration = .zero) {
        self.cpuTime = cpuTime
        self.runDelay = runDelay
    }
}
