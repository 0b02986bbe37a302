// SPDX-License-Identifier: Apache-2.0

/// How a thread has got on with the scheduler since it was born: `/proc/PID/task/TID/schedstat`.
public struct ThreadSchedule: Hashable, Sendable {
    /// Time on a CPU.
    public let runTime: Duration
    /// Time runnable, but waiting for a CPU.
    public let runDelay: Duration
    /// Times it got a CPU.
    public let timeslices: UInt64

    /// Creates a schedule from its parts.
    public init(runTime: Duration, runDelay: Duration, timeslices: UInt64) {
        self.runTime = runTime
        self.runDelay = runDelay
        self.timeslices = timeslices
    }

    /// Reads a thread's; nil if it is gone.
    public static func read(_ pid: Int32, thread: Int32) -> ThreadSchedule? {
        Procfs.read("/proc/\(pid)/task/\(thread)/schedstat", limit: 256).flatMap { ThreadSchedule(parsing: $0) }
    }

    /// Parses the three numbers of a `schedstat` file; nil if they are not there.
    public init?(parsing line: some Collection<UInt8>) {
        // Read with every ping: no arrays are made.
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
