// SPDX-License-Identifier: Apache-2.0

/// A process or thread as `/proc/PID/stat` shows it: proc_pid_stat(5).
public struct ProcessStat: Hashable, Sendable {
    /// The process or thread ID.
    public let id: Int32
    /// The name of the command, at most 15 bytes; chosen by the process.
    public let name: String
    /// The state.
    public let state: State
    /// The parent's process ID.
    public let parent: Int32
    /// The process group.
    public let group: Int32
    /// The session.
    public let session: Int32
    /// Page faults that waited for a disk.
    public let majorFaults: UInt64
    /// CPU time in user mode, in clock ticks.
    public let userTicks: UInt64
    /// CPU time in the kernel, in clock ticks.
    public let systemTicks: UInt64
    /// The kernel's priority: lower is more urgent, 20 is the default, negative is real-time.
    public let priority: Int32
    /// The number of threads.
    public let threadCount: Int
    /// When it was created, in clock ticks since boot.
    public let startTime: UInt64
    /// The standard signals that the process ignores or catches; bit 0 stands for signal 1.
    private let handledSignals: UInt64

    /// The state of a thread.
    public enum State: UInt8, Sendable, CaseIterable {
        /// Running or runnable.
        case running = 0x52
        /// Interruptible sleep.
        case sleeping = 0x53
        /// Uninterruptible sleep.
        case uninterruptible = 0x44
        /// Stopped by a job control signal.
        case stopped = 0x54
        /// Stopped by a tracer.
        case traced = 0x74
        /// Exited, but not reaped.
        case zombie = 0x5a
        /// Exited.
        case dead = 0x58
        /// Frozen with its cgroup, which the kernel has no letter for: never read from a stat file.
        case frozen = 0x46
        /// An idle kernel thread.
        case idle = 0x49
        /// Parked.
        case parked = 0x50

        /// The letter, such as `S`.
        public var letter: String { String(UnicodeScalar(rawValue)) }
    }

    /// Reads a process; nil if none has this ID.
    public static func read(_ pid: Int32) -> ProcessStat? {
        Procfs.page("/proc/\(pid)/stat").flatMap { ProcessStat(parsing: $0) }
    }

    /// Reads a thread of a process; nil if none has these IDs.
    public static func read(_ pid: Int32, thread: Int32) -> ProcessStat? {
        Procfs.read("/proc/\(pid)/task/\(thread)/stat", limit: 4096).flatMap { ProcessStat(parsing: $0) }
    }

    /// Parses the line of a `stat` file; nil if it is malformed.
    public init?(parsing line: some Collection<UInt8>) {
        let line = Array(line)
        // The name may itself contain parentheses, spaces and newlines; the last closing parenthesis ends it.
        guard let open = line.firstIndex(of: UInt8(ascii: "(")),
            let close = line.lastIndex(of: UInt8(ascii: ")")), open < close,
            let id = Int32(decimal: line[..<open].dropLast())
        else { return nil }
        let fields = line[(close + 1)...].split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        // fields[0] is field 3 in the man page.
        guard fields.count >= 20, fields[0].count == 1, let letter = fields[0].first else { return nil }
        guard let state = State(rawValue: letter),
            let parent = Int32(decimal: fields[1]),
            let group = Int32(decimal: fields[2]),
            let session = Int32(decimal: fields[3]),
            let faults = UInt64(decimal: fields[9]),
            let user = UInt64(decimal: fields[11]),
            let system = UInt64(decimal: fields[12]),
            let priority = Int32(String(decoding: fields[15], as: UTF8.self)),
            let threads = Int(decimal: fields[17]),
            let start = UInt64(decimal: fields[19])
        else { return nil }
        self.id = id
        name = String(decoding: line[(open + 1)..<close], as: UTF8.self)
        self.state = state
        self.parent = parent
        self.group = group
        self.session = session
        majorFaults = faults
        userTicks = user
        systemTicks = system
        self.priority = priority
        threadCount = threads
        startTime = start
        // Fields 33 and 34.
        handledSignals = fields.dropFirst(30).prefix(2).reduce(0) { $0 | (UInt64(decimal: $1) ?? 0) }
    }

    /// Whether the process leaves a standard signal to its default action.
    public func usesDefaultAction(of signal: Int32) -> Bool { handledSignals & (1 << UInt64(signal - 1)) == 0 }
}
