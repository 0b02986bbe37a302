// SPDX-License-Identifier: Apache-2.0

/// What a process did over a while, seen in many looks at all its threads.
public struct ProcessSamples: Sendable, Equatable {
    /// A stack and the state of the thread that showed it.
    public struct Stack: Sendable, Equatable {
        /// The letter of the state, `R` for a thread on a CPU or waiting for one.
        public var state: String
        /// The text of `/proc/PID/task/TID/syscall`, or `running`.
        public var syscall: String?
        /// The kernel function it slept in.
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

        /// Where the thread was in the kernel, or that it was on a CPU: `blocked in futex`.
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

    /// A thread that showed the same stack in consecutive looks.
    public struct Run: Sendable, Equatable {
        /// The first look, from 0.
        public var first: Int
        /// How many looks.
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

    /// A thread and what it showed.
    public struct Thread: Sendable, Equatable {
        /// Kernel thread id.
        public var id: Int
        /// Its name.
        public var name: String
        /// Time on a CPU meanwhile.
        public var runTime: Duration
        /// Time runnable without a CPU meanwhile.
        public var runDelay: Duration
        /// What it showed, in order of time.
        public var runs: [Run]

        /// Creates a thread.
        public init(id: Int, name: String, runTime: Duration = .zero, runDelay: Duration = .zero, runs: [Run]) {
            self.id = id
            self.name = name
            self.runTime = runTime
            self.runDelay = runDelay
            self.runs = runs
        }

        /// Looks in which it was seen.
        public var sampleCount: Int { runs.reduce(0) { $0 + $1.count } }
    }

    /// The process.
    public var process: Int
    /// Its name.
    public var name: String
    /// Its executable.
    public var path: String
    /// When the looks began.
    public var time: WallTime
    /// From one look to the next, on average.
    public var interval: Duration
    /// From the first look to the last.
    public var duration: Duration
    /// How many looks there were.
    public var sampleCount: Int
    /// The different stacks.
    public var stacks: [Stack]
    /// The threads that were seen.
    public var threads: [Thread] = []
    /// The images by load address.
    public var images: [BinaryImage]
    /// How often a thread was stopped.
    public var stopCount = 0
    /// The longest stop.
    public var longestStop = Duration.zero
    /// CPU time that the looks took, all together.
    public var cost = Duration.zero
    /// What could not be had and why.
    public var notes: [String] = []

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

    /// The main thread first, then those that were on a CPU most.
    var threadsByWeight: [Thread] {
        threads.sorted { one, other in
            if (one.id == process) != (other.id == process) { return one.id == process }
            if one.runTime != other.runTime { return one.runTime > other.runTime }
            return one.id < other.id
        }
    }
}
