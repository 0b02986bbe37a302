// SPDX-License-Identifier: Apache-2.0

/// CPU time of the whole machine and of the app during an allowance.
public struct CPUStatistics: Equatable, Sendable {
    /// All processes in user mode: `/proc/stat`, user and nice.
    public var systemUser: Duration
    /// All processes in the kernel: `/proc/stat`, system, irq and softirq.
    public var systemKernel: Duration
    /// All threads of the app, in user mode and in the kernel.
    public var application: Duration
    /// The wall-clock time between the two readings.
    public var elapsed: Duration

    /// Creates the statistics.
    public init(systemUser: Duration, systemKernel: Duration, application: Duration, elapsed: Duration) {
        self.systemUser = systemUser
        self.systemKernel = systemKernel
        self.application = application
        self.elapsed = elapsed
    }

    /// The percentage of the total CPU capacity, as in Apple's reports, which match 100 · time / (elapsed · number of
    /// CPUs), rounded.
    func percent(_ time: Duration, processorCount: Int) -> Int {
        let capacity = elapsed * max(processorCount, 1)
        guard capacity > .zero, time > .zero else { return 0 }
        return Int((100 * (time / capacity)).rounded())
    }
}
