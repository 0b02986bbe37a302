// SPDX-License-Identifier: Apache-2.0

/// How long cgroup quotas have kept a process from running.
///
/// The quota may belong to any ancestor of the process's cgroup, so those count as well.
public struct CPUThrottling: Hashable, Sendable {
    /// How long the process's cgroups have been throttled since they were created.
    public let throttledTime: Duration
    /// How many times they were throttled.
    public let periods: UInt64

    /// Creates statistics from their parts.
    public init(throttledTime: Duration, periods: UInt64) {
        self.throttledTime = throttledTime
        self.periods = periods
    }

    /// Reads the statistics that apply to a process; nil when no quota applies to it.
    ///
    /// Supports both cgroup versions; reads a few small files.
    public static func read(_ pid: Int32) -> CPUThrottling? {
        sum(files(of: pid).compactMap { Procfs.read($0, limit: 4096) })
    }

    /// The files with the statistics of quotas that apply to a process.
    static func files(of pid: Int32) -> [String] {
        let text = Procfs.read("/proc/\(pid)/cgroup", limit: 64 << 10) ?? []
        let membership = String(decoding: text, as: UTF8.self)
        return CgroupMount.all().flatMap { mount -> [String] in
            guard mount.isUnified || mount.controllers?.contains("cpu") == true,
                let cgroup = mount.cgroup(in: membership),
                let directory = mount.directory(of: cgroup)
            else { return [] }
            return chain(from: directory, to: mount.directory).map { "\($0)/cpu.stat" }
        }
    }

    /// A directory and its ancestors, up to and including the root of the hierarchy.
    static func chain(from directory: String, to top: String) -> [String] {
        var chain = [directory]
        var current = Substring(directory)
        while current != top, let slash = current.lastIndex(of: "/"), current.count > top.count {
            current = current[..<slash]
            chain.append(String(current))
        }
        return chain
    }

    static func sum(_ files: [[UInt8]]) -> CPUThrottling? {
        var time: Duration?
        var periods: UInt64 = 0
        for file in files {
            let numbers = KeyedNumbers(file)
            // Version 1 counts nanoseconds. Without a quota there are no periods.
            let throttled =
                numbers["throttled_usec"].map { Duration.microseconds(Int64(clamping: $0)) }
                ?? numbers["throttled_time"].map { Duration.nanoseconds(Int64(clamping: $0)) }
            guard let throttled, numbers["nr_periods"].map({ $0 > 0 }) == true else { continue }
            time = (time ?? .zero) + throttled
            periods &+= numbers["nr_throttled"] ?? 0
        }
        return time.map { CPUThrottling(throttledTime: $0, periods: periods) }
    }
}
