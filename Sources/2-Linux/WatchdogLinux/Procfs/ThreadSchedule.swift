// SPDX-License-Identifier: Apache-2.0

/// A thread's scheduler statistics since its creation: `/proc/PID/task/TID/schedstat`.
public struct ThreadSchedule: Hashable, Sendable {
    /// The time on a CPU.
    public let runTime: Duration
    /// The time runnable, but waiting for a CPU.
    public let runDelay: Duration
    /// How often it got a CPU.
    public let timeslices: UInt64

    /// Creates a schedule from its parts.
    public init(runTime: Duration, runDelay: Duration, timeslices: UInt64) {
        self.runTime = runTime
        self.runDelay = runDelay
        self.timeslices = timeslices
    }

    /// Reads the statistics of a thread; nil if it is gone.
    public static func read(_ pid: Int32, thread: Int32) -> ThreadSchedule? {
        Procfs.read("/proc/\(pid)/task/\(thread)/schedstat", limit: 256).flatMap { ThreadSchedule(parsing: $0) }
    }

    /// Parses the three numbers in a `schedstat` file; nil if they are missing.
    public init?(parsing line: some Collection<UInt8>) {
        // This runs with every ping: avoid allocating arrays.
        var rest = line[...]
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") }
        func next<Number: FixedWidthInteger>() -> Number? {
            let field = rest.drop(while: isSpace).prefix { !isSpace($0) }
            rest = rest[field.endIndex...]
            return Number(decimal: field)
        }
        guard let run: Int64 = next(), let delay: Int64 = next(), let slices: UInt64 = next() else { return nil }
        runTime = .nanoseconds(run)
        runDelay = .nanoseconds(delay)
        timeslices = slices
    }
}
