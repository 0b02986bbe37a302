// SPDX-License-Identifier: Apache-2.0

/// The costs of a launch up to its end, including all threads and reaped children.
///
/// From getrusage(2); for a program that keeps running, from `/proc` and its CPU-time clock.
public struct LaunchResources: Equatable, Sendable {
    /// CPU time in user mode; includes the system time if that is unknown.
    public var user: Duration
    /// CPU time in the kernel.
    public var system: Duration
    /// The number of page faults without disk I/O.
    public var minorFaults: Int
    /// The number of page faults with disk I/O.
    public var majorFaults: Int
    /// The number of bytes read from disks.
    public var bytesRead: Int
    /// The largest resident size in bytes.
    public var peakMemory: Int

    /// Whether the launch read nothing from a disk.
    public var isWarm: Bool { bytesRead == 0 && majorFaults == 0 }

    /// Creates an account.
    public init(
        user: Duration = .zero, system: Duration = .zero, minorFaults: Int = 0, majorFaults: Int = 0,
        bytesRead: Int = 0, peakMemory: Int = 0
    ) {
        self.user = user
        self.system = system
        self.minorFaults = minorFaults
        self.majorFaults = majorFaults
        self.bytesRead = bytesRead
        self.peakMemory = peakMemory
    }
}

/// Samples of the main thread's CPU time, as a tree of calls.
public struct SampledCalls: Equatable, Sendable {
    /// A function, and the number of samples with it on the stack.
    public struct Call: Equatable, Sendable {
        /// Its name, or that of its file if it is unknown.
        public var function: String
        /// The file that contains it.
        public var object: String?
        /// The number of samples with it on the stack.
        public var count: Int
        /// The callees, in descending order of their counts.
        public var callees: [Call]

        /// Creates a call.
        public init(function: String, object: String? = nil, count: Int, callees: [Call] = []) {
            self.function = function
            self.object = object
            self.count = count
            self.callees = callees
        }
    }

    /// The time between two samples.
    public var interval: Duration
    /// The number of samples.
    public var count: Int
    /// The outermost calls.
    public var roots: [Call]

    /// Creates samples.
    public init(interval: Duration, count: Int, roots: [Call]) {
        self.interval = interval
        self.count = count
        self.roots = roots
    }
}
