// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// What was short while the main thread did not answer, watched from about half of its allowance on.
public struct Strain: Hashable, Sendable {
    /// A process that used the CPUs meanwhile.
    public struct Consumer: Hashable, Sendable {
        /// The process.
        public var process: Int
        /// The name that it has given itself.
        public var name: String
        /// CPU time.
        public var time: Duration

        /// Creates a consumer.
        public init(process: Int, name: String, time: Duration) {
            self.process = process
            self.name = name
            self.time = time
        }
    }

    /// For how long it was watched.
    public var window: Duration
    /// For how long quotas kept the process's cgroups from running, all of them together.
    public var throttled: Duration = .zero
    /// How many periods of a quota were cut short.
    public var throttledPeriods: UInt64 = 0
    /// For how long some task waited for memory.
    public var memoryStalled: Duration = .zero
    /// The file that said so.
    public var memorySource = "/proc/pressure/memory"
    /// For how long some task waited for a disk.
    public var diskStalled: Duration = .zero
    /// The file that said so.
    public var diskSource = "/proc/pressure/io"
    /// Pages that the main thread waited for until they were read from a disk; nil when that is not known.
    public var majorFaults: UInt64?
    /// Who used most of the CPUs, the greatest first.
    public var consumers: [Consumer] = []

    /// Creates a strain in which nothing was short.
    public init(window: Duration) {
        self.window = window
    }

    var isThrottled: Bool { isAtLeast(VerdictThresholds.throttled, throttled) }
    var isMemoryStalled: Bool { isAtLeast(VerdictThresholds.memoryStalled, memoryStalled) }

    private func isAtLeast(_ tenths: Int, _ part: Duration) -> Bool {
        window > .zero && part > .zero && part * 1_000 >= window * tenths
    }

    /// `pid 7 "make" (1.80 s) and pid 9 "cc1" (0.70 s)`, nil when nobody is known.
    var consumersText: String? {
        let words = consumers.prefix(2).map {
            "pid \($0.process) \"\($0.name.singleLine(limit: 32))\" (\($0.time.seconds(fractionDigits: 2)) s)"
        }
        return words.isEmpty ? nil : words.joined(separator: " and ")
    }

    /// What was short, each with its source.
    func statements(pid: Int, thread: Int) -> [EvidenceStatement] {
        func text(_ duration: Duration) -> String { "\(duration.seconds(fractionDigits: 6)) s" }
        var statements = [
            EvidenceStatement(what: "time watched for what was short", value: text(window), source: "CLOCK_MONOTONIC"),
            EvidenceStatement(
                what: "time for which quotas kept the app's cgroups from running",
                value: "\(text(throttled)) in \(throttledPeriods) periods", source: "cpu.stat of its cgroups"),
            EvidenceStatement(
                what: "time for which tasks waited for memory", value: text(memoryStalled), source: memorySource),
            EvidenceStatement(
                what: "time for which tasks waited for disks", value: text(diskStalled), source: diskSource),
        ]
        if let majorFaults {
            statements.append(
                EvidenceStatement(
                    what: "pages that the main thread waited for", value: String(majorFaults),
                    source: "/proc/\(pid)/task/\(thread)/stat field 12"))
        }
        if let consumersText {
            statements.append(
                EvidenceStatement(
                    what: "processes that used most CPU time meanwhile", value: consumersText,
                    source: "/proc/*/stat fields 14 and 15"))
        }
        return statements
    }
}

extension HangEvidence {
    /// Whether the main thread waits for pages: in uninterruptible sleep outside any system call, or after a number of them.
    var isPagingIn: Bool {
        if let faults = strain?.majorFaults, faults >= 16 { return true }
        guard state == "D", case .outside = syscall.flatMap(SystemCall.position(in:)) else { return false }
        return true
    }
}
