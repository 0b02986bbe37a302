// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase

/// Measures outside causes that slow down a thread: quotas, memory, disks, and other users of the CPUs.
///
/// Opens its files once, so that reading again is cheap and works even while the process dies.
///
/// Isolation: one thread at a time.
public final class StrainGauge {
    /// The counters at one instant; nil for those that the kernel does not provide.
    public struct Reading: Hashable, Sendable {
        /// When they were read.
        public var at: Instant
        /// How long quotas kept the process's cgroups from running.
        public var throttling: CPUThrottling?
        /// How long tasks waited for memory.
        public var memory: Pressure?
        /// How long tasks waited for disks.
        public var disk: Pressure?
        /// How long the hypervisor took CPUs that had work to do, in total over all CPUs.
        public var stolen: Duration?
        /// How long the CPUs ran processes, in total over all CPUs, also those that ended meanwhile.
        public var busy: Duration?
        /// How many pages the thread had to wait for until they were read from disk.
        public var majorFaults: UInt64?
    }

    private let throttling: [OwnedDescriptor]
    private let memory: OwnedDescriptor?
    private let disk: OwnedDescriptor?
    private let stat: OwnedDescriptor?
    private let machine: OwnedDescriptor?

    /// The file with the memory pressure: that of the process's cgroup, or else of the whole machine.
    public let memorySource: String
    /// The file with the disk pressure.
    public let diskSource: String

    /// Opens the files for a thread of a process.
    public init(_ process: Int32, thread: Int32) {
        throttling = CPUThrottling.files(of: process).compactMap { try? OwnedDescriptor(opening: $0, flags: O_RDONLY) }
        let directory = CgroupMount.all().first(where: \.isUnified).flatMap { mount -> String? in
            let membership = String(
                decoding: Procfs.read("/proc/\(process)/cgroup", limit: 64 << 10) ?? [], as: UTF8.self)
            return mount.cgroup(in: membership).flatMap { mount.directory(of: $0) }
        }
        (memory, memorySource) = Self.open("memory", directory)
        (disk, diskSource) = Self.open("io", directory)
        stat = try? OwnedDescriptor(opening: "/proc/\(process)/task/\(thread)/stat", flags: O_RDONLY)
        machine = try? OwnedDescriptor(opening: "/proc/stat", flags: O_RDONLY)
    }

    private static func open(_ resource: String, _ directory: String?) -> (OwnedDescriptor?, String) {
        for path in [directory.map { "\($0)/\(resource).pressure" }, "/proc/pressure/\(resource)"] {
            if let path, let file = try? OwnedDescriptor(opening: path, flags: O_RDONLY) { return (file, path) }
        }
        return (nil, "/proc/pressure/\(resource)")
    }

    /// Reads the counters.
    public func read() -> Reading {
        func contents(_ file: OwnedDescriptor?) -> [UInt8]? {
            file.flatMap { Procfs.readAll($0.number, limit: 4096) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        let cpu = contents(machine).flatMap { MachineCPU(parsing: $0, tick: ProcessCPU.clockTick) }
        return Reading(
            at: .now(),
            throttling: CPUThrottling.sum(throttling.compactMap { contents($0) }),
            memory: contents(memory).flatMap { Pressure(parsing: $0) },
            disk: contents(disk).flatMap { Pressure(parsing: $0) },
            stolen: cpu?.stolenTime,
            busy: cpu?.busyTime,
            majorFaults: contents(stat).flatMap { Self.majorFaults($0) }
        )
    }

    /// Field 12 of proc_pid_stat(5).
    static func majorFaults(_ line: [UInt8]) -> UInt64? {
        guard let close = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = line[(close + 1)...].split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        return fields.count > 9 ? UInt64(decimal: fields[9]) : nil
    }
}

/// How long a resource was so short that at least one task waited for it: the kernel's pressure stall information.
///
/// Source: `Documentation/accounting/psi.rst`.
public struct Pressure: Hashable, Sendable {
    /// How long some task waited, since the counter was created.
    public let someStalled: Duration

    /// Parses a pressure file; nil if the `some` line or its total is missing.
    public init?(parsing text: some Collection<UInt8>) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.first?.elementsEqual("some".utf8) == true else { continue }
            let key = Array("total=".utf8)
            for word in words where word.starts(with: key) {
                guard let microseconds = Int64(decimal: word.dropFirst(key.count)) else { return nil }
                someStalled = .nanoseconds(microseconds.multipliedReportingOverflow(by: 1_000).partialValue)
                return
            }
        }
        return nil
    }
}
