// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What every process of the machine had used of the CPUs at one instant.
///
/// Takes about 10 µs for each process: nothing for a loop with deadlines.
public struct CPUConsumers: Sendable {
    /// A process and what it used between two readings.
    public struct Consumer: Hashable, Sendable {
        /// The process.
        public let process: Int32
        /// Its name.
        public let name: String
        /// CPU time, to the clock tick.
        public let time: Duration
    }

    /// Processes that are read at most.
    private static let limit = 4_096

    private let ticks: [Int32: (start: UInt64, ticks: UInt64, name: String)]

    private init(ticks: [Int32: (start: UInt64, ticks: UInt64, name: String)]) {
        self.ticks = ticks
    }

    /// Reads all processes.
    public static func read() -> CPUConsumers {
        var ticks: [Int32: (start: UInt64, ticks: UInt64, name: String)] = [:]
        for process in Procfs.processes().prefix(limit) {
            guard let stat = ProcessStat.read(process) else { continue }
            ticks[process] = (stat.startTime, stat.userTicks &+ stat.systemTicks, stat.name)
        }
        return CPUConsumers(ticks: ticks)
    }

    /// Those that used most since an earlier reading, the greatest first; none that used nothing.
    public func most(_ count: Int, since earlier: CPUConsumers) -> [Consumer] {
        let perTick = 1_000_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
        return ticks.compactMap { process, now -> Consumer? in
            let before = earlier.ticks[process].flatMap { $0.start == now.start ? $0.ticks : nil } ?? 0
            guard now.ticks > before else { return nil }
            return Consumer(
                process: process, name: now.name,
                time: .nanoseconds(
                    Int64(clamping: now.ticks - before).multipliedReportingOverflow(by: perTick).partialValue))
        }
        .sorted { ($1.time, $0.process) < ($0.time, $1.process) }
        .prefix(count).map(\.self)
    }
}
