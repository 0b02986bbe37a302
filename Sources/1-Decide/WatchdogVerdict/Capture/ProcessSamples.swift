// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Many samples of all threads of a process over a period.
public struct ProcessSamples: Sendable, Equatable {
    /// A stack, with the state of the thread.
    public struct Stack: Sendable, Equatable {
        /// The letter of the thread's state; `R` means on a CPU or waiting for one.
        public var state: String
        /// The text of `/proc/PID/task/TID/syscall`, or `running`.
        public var syscall: String?
        /// The kernel function in which the thread slept.
        public var waitChannel: String?
        /// The calls, innermost first.
        public var frames: [Frame]
        /// Swift's asynchronous callers, nearest first.
        public var asynchronousFrames: [Frame]

        /// Creates a stack.
        public init(
            state: String, syscall: String?, waitChannel: String? = nil, frames: [Frame],
            asynchronousFrames: [Frame] = []
        ) {
            self.state = state
            self.syscall = syscall
            self.waitChannel = waitChannel
            self.frames = frames
            self.asynchronousFrames = asynchronousFrames
        }

        /// The thread's position in the kernel, such as `blocked in futex`, or that it was on a CPU.
        public var place: String {
            let uninterruptible = state == "D" ? " (uninterruptible)" : ""
            switch syscall.flatMap(SystemCall.position(in:)) {
            case .inside(let call): return "blocked in \(call.name ?? "system call \(call.number)")\(uninterruptible)"
            case .outside:
                let channel = waitChannel.map { " (\($0.singleLine(limit: 64)))" } ?? ""
                return "blocked outside system calls\(channel)\(uninterruptible)"
            case .running: return "on CPU"
            case nil:
                return switch state {
                case "R": "on CPU"
                case "T", "t": "stopped"
                case "Z", "X": "ended"
                default: "blocked\(uninterruptible)"
                }
            }
        }
    }

    /// Consecutive samples in which a thread showed the same stack.
    public struct Run: Sendable, Equatable {
        /// The index of the first sample, from 0.
        public var first: Int
        /// The number of samples.
        public var count: Int
        /// Index into ``ProcessSamples/stacks``.
        public var stack: Int

        /// Creates a run.
        public init(first: Int, count: Int, stack: Int) {
            self.first = first
            self.count = count
            self.stack = stack
        }
    }

    /// A thread and its stacks over time.
    public struct Thread: Sendable, Equatable {
        /// The kernel's thread ID.
        public var id: Int
        /// The name of the thread.
        public var name: String
        /// The time on a CPU during sampling.
        public var runTime: Duration
        /// The time runnable without a CPU during sampling.
        public var runDelay: Duration
        /// An upper bound of the time for which sampling stopped the thread.
        public var stopped: Duration
        /// The stacks that the thread showed, in chronological order.
        public var runs: [Run]

        /// Creates a thread.
        public init(
            id: Int, name: String, runTime: Duration = .zero, runDelay: Duration = .zero, stopped: Duration = .zero,
            runs: [Run]
        ) {
            self.id = id
            self.name = name
            self.runTime = runTime
            self.runDelay = runDelay
            self.stopped = stopped
            self.runs = runs
        }

        /// The number of samples that show the thread.
        public var sampleCount: Int { runs.reduce(0) { $0 + $1.count } }
    }

    /// The process ID.
    public var process: Int
    /// The process name.
    public var name: String
    /// The path of the executable.
    public var path: String
    /// The wall-clock time of the first sample.
    public var time: WallTime
    /// The average time between two samples.
    public var interval: Duration
    /// The time from the first sample to the last.
    public var duration: Duration
    /// The number of samples.
    public var sampleCount: Int
    /// The distinct stacks.
    public var stacks: [Stack]
    /// The sampled threads.
    public var threads: [Thread] = []
    /// The images by load address.
    public var images: [BinaryImage]
    /// The number of times that a thread was stopped.
    public var stopCount = 0
    /// The longest stop.
    public var longestStop = Duration.zero
    /// The total CPU time that sampling took.
    public var cost = Duration.zero
    /// Notes about missing data, with reasons.
    public var notes: [String] = []
    /// The reason for missing names or frames that another attempt may find; nil if there is none.
    public var shortage: String?

    /// Creates samples without threads.
    public init(
        process: Int, name: String, path: String, time: WallTime, interval: Duration, duration: Duration,
        sampleCount: Int, stacks: [Stack], images: [BinaryImage]
    ) {
        self.process = process
        self.name = name
        self.path = path
        self.time = time
        self.interval = interval
        self.duration = duration
        self.sampleCount = sampleCount
        self.stacks = stacks
        self.images = images
    }

    /// The main thread first, then the others by their CPU time, highest first.
    package var threadsByWeight: [Thread] {
        threads.sorted { one, other in
            if (one.id == process) != (other.id == process) { return one.id == process }
            if one.runTime != other.runTime { return one.runTime > other.runTime }
            return one.id < other.id
        }
    }
}
