// SPDX-License-Identifier: Apache-2.0

/// A process or thread as `/proc/PID/stat` shows it: proc_pid_stat(5).
public struct ProcessStat: Hashable, Sendable {
    /// Process or thread id.
    public let id: Int32
    /// The command's name, at most 15 bytes; chosen by the process.
    public let name: String
    /// The letter of the state.
    public let state: State
    /// The parent's process id.
    public let parent: Int32
    /// The process group.
    public let group: Int32
    /// The session.
    public let session: Int32
    /// CPU time in user mode, in clock ticks.
    public let userTicks: UInt64
    /// CPU time in the kernel, in clock ticks.
    public let systemTicks: UInt64
    /// The scheduler's priority: less is more urgent, 20 is usual, below 0 is real-time.
    public let priority: Int32
    /// Number of threads.
    public let threadCount: Int
    /// When it was born, in clock ticks since boot.
    public let startTime: UInt64

    /// The state of a thread.
    public enum State: UInt8, Sendable, CaseIterable {
        /// Running or runnable.
        case running = 0x52
        /// Waiting, can be interrupted.
        case sleeping = 0x53
        /// Waiting, cannot be interrupted.
        case uninterruptible = 0x44
        /// Stopped by a job control signal.
        case stopped = 0x54
        /// Stopped by a tracer.
        case traced = 0x74
        /// Ended, not yet reaped.
        case zombie = 0x5a
        /// Ended.
        case dead = 0x58
        /// An idle kernel thread.
        case idle = 0x49
        /// Parked.
        case parked = 0x50

        /// The letter, such as `S`.
        public var letter: String { String(UnicodeScalar(rawValue)) }
    }

    /// Reads a process; nil if there is none with this id.
    public static func read(_ pid: Int32) -> ProcessStat? {
        Procfs.read("/proc/\(pid)/stat", limit: 4096).flatMap { ProcessStat(parsing: $0) }
    }

    /// Reads a thread of a process; nil if there is none with these ids.
    public static func read(_ pid: Int32, thread: Int32) -> ProcessStat? {
        Procfs.read("/proc/\(pid)/task/\(thread)/stat", limit: 4096).flatMap { ProcessStat(parsing: $0) }
    }

    /// Parses the line of a `stat` file; nil if it does not have the form.
    public init?(parsing line: some Collection<UInt8>) {
        let line = Array(line)
        // The name may itself contain parentheses, spaces and newlines; the last parenthesis closes it.
        guard let open = line.firstIndex(of: UInt8(ascii: "(")),
            let close = line.lastIndex(of: UInt8(ascii: ")")), open < close,
            let id = Int32(decimal: line[..<open].dropLast())
        else { return nil }
        let fields = line[(close + 1)...].split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        // fields[0] is field 3 of the manual page.
        guard fields.count >= 20, fields[0].count == 1, let letter = fields[0].first else { return nil }
        guard let state = State(rawValue: letter),
            let parent = Int32(decimal: fields[1]),
            let group = Int32(decimal: fields[2]),
            let session = Int32(decimal: fields[3]),
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
        userTicks = user
        systemTicks = system
        self.priority = priority
        threadCount = threads
        startTime = start
    }
}
