// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The resources that were short while the main thread did not answer, observed from about half of its allowance on.
public struct Strain: Hashable, Sendable {
    /// A process that used the CPUs during that time.
    public struct Consumer: Hashable, Sendable {
        /// The process ID.
        public var process: Int
        /// The name of the process (`comm`), which it can set.
        public var name: String
        /// Its CPU time.
        public var time: Duration

        /// Creates a consumer.
        public init(process: Int, name: String, time: Duration) {
            self.process = process
            self.name = name
            self.time = time
        }
    }

    /// The CPU time of all processes, and the part that the app's own processes took.
    public struct ProcessorTime: Hashable, Sendable {
        /// The CPU time of all processes.
        public var total: Duration
        /// The CPU time of the app's main process and its descendants.
        public var own: Duration

        /// Creates a value; `own` is a part of `total`.
        public init(total: Duration, own: Duration) {
            self.total = total
            self.own = own
        }
    }

    /// The time for which the resources were observed.
    public var window: Duration
    /// The time for which CPU quotas kept the process's cgroups from running, in total over all CPUs.
    public var throttled: Duration = .zero
    /// The number of throttled quota periods.
    public var throttledPeriods: UInt64 = 0
    /// The time for which the hypervisor withheld CPUs that had work, in total over all CPUs.
    public var stolen: Duration = .zero
    /// The time for which the CPUs ran processes, in total over all CPUs; nil if unknown.
    public var busy: Duration?
    /// The time in which some task waited for memory.
    public var memoryStalled: Duration = .zero
    /// The source of ``memoryStalled``.
    public var memorySource = "/proc/pressure/memory"
    /// The time in which some task waited for a disk.
    public var diskStalled: Duration = .zero
    /// The source of ``diskStalled``.
    public var diskSource = "/proc/pressure/io"
    /// The number of pages that were read from disk for the main thread; nil if unknown.
    public var majorFaults: UInt64?
    /// The time for which the CPU time of processes was observed.
    public var processorWindow: Duration
    /// The processes that used the most CPU time, highest first.
    public var consumers: [Consumer] = []
    /// The CPU time of processes; nil if unknown.
    public var processorTime: ProcessorTime?

    /// Creates a strain without any shortage.
    public init(window: Duration) {
        self.window = window
        processorWindow = window
    }

    /// Whether the CPUs had hardly any idle time.
    func isFull(_ processorCount: Int) -> Bool {
        guard window > .zero else { return false }
        // The sum over processes lacks those that ended meanwhile, such as a build's.
        let bySum = processorWindow > .zero ? processorTime.map { $0.total / processorWindow } : nil
        guard let used = [bySum, busy.map { $0 / window }].compactMap(\.self).max() else { return false }
        let share = used + stolen / window
        return share * 1_000 >= Double(processorCount * VerdictThresholds.full)
    }

    var isThrottled: Bool { isAtLeast(VerdictThresholds.throttled, throttled) }
    var isMemoryStalled: Bool { isAtLeast(VerdictThresholds.memoryStalled, memoryStalled) }

    private func isAtLeast(_ tenths: Int, _ part: Duration) -> Bool {
        window > .zero && part > .zero && part * 1_000 >= window * tenths
    }

    /// ``throttled`` as a percentage of one CPU: the kernel sums over all CPUs, so two throttled CPUs can add up to 200
    /// %.
    var throttledPercent: Int64 {
        guard window > .zero else { return 0 }
        return Int64(min((Double(throttled.nanoseconds) / Double(window.nanoseconds) * 100).rounded(), 1e9))
    }

    /// `the hypervisor took 0.90 s of CPU time`; nil if it took less than a tenth of the time.
    var theftText: String? {
        guard window > .zero, stolen * 10 >= window else { return nil }
        let taken = stolen.seconds(fractionDigits: 2)
        return "the hypervisor took \(taken) s of CPU time in \(window.seconds(fractionDigits: 2)) s"
    }

    /// `pid 7 "make" (1.80 s) and pid 9 "cc1" (0.70 s)`; nil if no consumer is known.
    var consumersText: String? {
        let words = consumers.prefix(2).map {
            "pid \($0.process) \"\($0.name.singleLine(limit: 32))\" (\($0.time.seconds(fractionDigits: 2)) s)"
        }
        return words.isEmpty ? nil : words.joined(separator: " and ")
    }

    /// The label of the statement about ``processorTime``.
    package static let ownTime = "CPU time of the app's own processes, of that of all"

    /// The shortages, each with its source.
    package func statements(pid: Int, thread: Int) -> [EvidenceStatement] {
        func text(_ duration: Duration) -> String { "\(duration.seconds(fractionDigits: 6)) s" }
        var statements = [
            EvidenceStatement(what: "time watched for what was short", value: text(window), source: "CLOCK_MONOTONIC"),
            EvidenceStatement(
                what: "time for which quotas kept the app's cgroups from running",
                value: "\(text(throttled)) in \(throttledPeriods) periods"
                    + (throttled > .zero ? ", \(throttledPercent) % of one CPU" : ""),
                source: "cpu.stat of its cgroups, the sum over CPUs"),
            EvidenceStatement(
                what: "time for which tasks waited for memory", value: text(memoryStalled), source: memorySource),
            EvidenceStatement(
                what: "time for which tasks waited for disks", value: text(diskStalled), source: diskSource),
        ]
        if stolen > .zero {
            statements.append(
                EvidenceStatement(
                    what: "time for which the hypervisor took the CPUs", value: text(stolen),
                    source: "/proc/stat field steal, the sum over CPUs"))
        }
        if let majorFaults {
            statements.append(
                EvidenceStatement(
                    what: "pages that the main thread waited for", value: String(majorFaults),
                    source: "/proc/\(pid)/task/\(thread)/stat field 12"))
        }
        if let processorTime {
            statements.append(
                EvidenceStatement(
                    what: Self.ownTime, value: "\(text(processorTime.own)) of \(text(processorTime.total))",
                    source: "clock_gettime(2) of each process, /proc/*/stat field 4"))
        }
        if let consumersText {
            statements.append(
                EvidenceStatement(
                    what: "processes that used most CPU time meanwhile", value: consumersText,
                    source: "clock_gettime(2) of each process"))
        }
        return statements
    }
}

extension HangEvidence {
    /// Whether the main thread waits for pages: in uninterruptible sleep outside any system call, or after many major
    /// faults.
    var isPagingIn: Bool {
        if let faults = strain?.majorFaults, faults >= 16 { return true }
        guard state == "D", !isWaitingForMemoryMap, !isOnFrozenFileSystem,
            case .outside = syscall.flatMap(SystemCall.position(in:))
        else {
            return false
        }
        return true
    }
}
