// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The CPU time of every process on the machine at one instant.
///
/// Takes about 10 µs per process: too slow for a loop with deadlines.
public struct CPUConsumers: Sendable {
    /// A process and the CPU time that it used between two readings.
    public struct Consumer: Hashable, Sendable {
        /// The process ID.
        public let process: Int32
        /// Its name.
        public let name: String
        /// The CPU time, to the clock tick.
        public let time: Duration
    }

    /// The maximum number of processes that are read.
    private static let limit = 4_096
    /// Processes change while they are read, so their parents could form a circle.
    private static let depth = 64

    /// What is read of a process.
    struct Reading {
        let start: UInt64
        let ticks: UInt64
        let name: String
        let parent: Int32
    }

    private let readings: [Int32: Reading]

    init(_ readings: [Int32: Reading]) {
        self.readings = readings
    }

    /// Reads all processes.
    public static func read() -> CPUConsumers {
        var readings: [Int32: Reading] = [:]
        for process in Procfs.processes().prefix(limit) {
            guard let stat = ProcessStat.read(process) else { continue }
            readings[process] = Reading(
                start: stat.startTime, ticks: stat.userTicks &+ stat.systemTicks, name: stat.name, parent: stat.parent)
        }
        return CPUConsumers(readings)
    }

    /// The processes that used the most CPU time since an earlier reading, highest first; idle ones are left out.
    public func most(_ count: Int, since earlier: CPUConsumers) -> [Consumer] {
        consumers(since: earlier).sorted { ($1.time, $0.process) < ($0.time, $1.process) }.prefix(count).map(\.self)
    }

    /// The CPU time of all processes since an earlier reading, and the part of a process and its descendants.
    public func time(since earlier: CPUConsumers, below process: Int32) -> (total: Duration, own: Duration) {
        consumers(since: earlier).reduce(into: (.zero, .zero)) { times, consumer in
            times.0 += consumer.time
            if isBelow(process, consumer.process) { times.1 += consumer.time }
        }
    }

    private func isBelow(_ ancestor: Int32, _ process: Int32) -> Bool {
        var current = process
        for _ in 0..<Self.depth where current != ancestor {
            guard let parent = readings[current]?.parent, parent > 0 else { return false }
            current = parent
        }
        return current == ancestor
    }

    private func consumers(since earlier: CPUConsumers) -> [Consumer] {
        let perTick = 1_000_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
        return readings.compactMap { process, now -> Consumer? in
            let before = earlier.readings[process].flatMap { $0.start == now.start ? $0.ticks : nil } ?? 0
            guard now.ticks > before else { return nil }
            return Consumer(
                process: process, name: now.name,
                time: .nanoseconds(
                    Int64(clamping: now.ticks - before).multipliedReportingOverflow(by: perTick).partialValue))
        }
    }
}
