// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The CPU time of every process on the machine at one instant.
///
/// Takes 3 µs per process, where the `stat` files would take 15: too slow for a loop with deadlines, and fast enough for a
/// thread that takes samples beside five thousand processes.
public struct CPUConsumers: Sendable {
    /// The maximum number of processes that are read, of which the newest count.
    private static let limit = 32_768
    /// Processes that used less are not looked at.
    private static let least = Duration.milliseconds(1)

    private let times: [Int32: Duration]
    /// When they were read, as a start time: ``ProcessStat/startTime``.
    private let start: Int64
    private let isComplete: Bool

    /// Reads all processes.
    public static func read() -> CPUConsumers {
        let start = Machine.uptime.nanoseconds / ProcessCPU.clockTick.nanoseconds
        let processes = Procfs.processes()
        var times: [Int32: Duration] = [:]
        times.reserveCapacity(min(processes.count, limit))
        for process in processes.suffix(limit) { times[process] = ProcessCPU.time(process) }
        return CPUConsumers(times: times, start: start, isComplete: processes.count <= limit)
    }

    /// What the processes have used since.
    public func use() -> CPUUse {
        let now = Self.read()
        var use = CPUUse(consumers: [], parents: [:], isComplete: isComplete && now.isComplete)
        for (process, time) in now.times {
            // Negative if the ID belonged to another process.
            let used = time - (times[process] ?? .zero)
            guard used < .zero || used >= Self.least, let stat = ProcessStat.read(process) else {
                use.rest += max(.zero, used)
                continue
            }
            let isNew = Int64(clamping: stat.startTime) >= start
            guard let before = isNew ? .zero : times[process] else { continue }
            use.consumers.append(CPUUse.Consumer(process: process, name: stat.name, time: time - before))
            use.addAncestors(from: stat)
        }
        return use
    }
}
