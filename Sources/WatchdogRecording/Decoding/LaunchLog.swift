// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// All that was seen of a launch, as it was seen: what a recording is made from.
public struct LaunchLog: Sendable {
    /// A program that the launched process executed.
    public struct Execution: Sendable {
        /// When its execve(2) returned.
        public var time: Instant
        /// The file.
        public var path: String
        /// What it is; nil if the process was not stopped there.
        public var image: ProgramImage?
        /// When the process continued after the recorder had set its breakpoints; nil if it was not stopped.
        public var released: Instant?

        /// Creates an execution.
        public init(time: Instant, path: String, image: ProgramImage? = nil, released: Instant? = nil) {
            self.time = time
            self.path = path
            self.image = image
            self.released = released
        }
    }

    /// A stop of the process at a boundary.
    public struct Stop: Sendable {
        /// The boundary.
        public var boundary: LaunchBoundary
        /// Which of the executions it belongs to.
        public var program: Int
        /// When the recorder saw it.
        public var time: Instant
        /// The main thread's CPU time until then.
        public var accounting: ThreadTime?
        /// When the recorder let the process continue.
        public var released: Instant?

        /// Creates a stop.
        public init(
            boundary: LaunchBoundary, program: Int, time: Instant, accounting: ThreadTime? = nil,
            released: Instant? = nil
        ) {
            self.boundary = boundary
            self.program = program
            self.time = time
            self.accounting = accounting
            self.released = released
        }
    }

    /// What a thread was seen blocked in.
    public struct Look: Sendable {
        /// The thread.
        public var thread: Int32
        /// When.
        public var time: Instant
        /// The system call's name.
        public var call: String

        /// Creates a look.
        public init(thread: Int32, time: Instant, call: String) {
            self.thread = thread
            self.time = time
            self.call = call
        }
    }

    /// What `/proc` says about a thread.
    public struct ThreadFacts: Sendable {
        /// The thread's process.
        public var process: Int32
        /// The thread.
        public var thread: Int32
        /// Its name.
        public var name: String
        /// How it is scheduled.
        public var scheduling: ThreadScheduling?
        /// What the kernel counted since the recording began; `blocked` is zero.
        public var accounting: ThreadTime?

        /// Creates facts.
        public init(
            process: Int32, thread: Int32, name: String, scheduling: ThreadScheduling? = nil,
            accounting: ThreadTime? = nil
        ) {
            self.process = process
            self.thread = thread
            self.name = name
            self.scheduling = scheduling
            self.accounting = accounting
        }
    }

    /// A probe at the first instruction of a constructor.
    public struct Probe: Hashable, Sendable {
        /// Which of the executions it belongs to.
        public var program: Int
        /// The path by which the kernel knows the file.
        public var path: String
        /// The file's inode number.
        public var inode: UInt64
        /// The address minus the load address of its file.
        public var offset: UInt64

        /// Creates a probe.
        public init(program: Int, path: String, inode: UInt64, offset: UInt64) {
            self.program = program
            self.path = path
            self.inode = inode
            self.offset = offset
        }
    }

    /// When the launch was requested.
    public var requested: Instant
    /// The launched process.
    public var process: Int32
    /// The rung on which it was recorded.
    public var rung: Rung
    /// What it executed, in order.
    public var executions: [Execution] = []
    /// The kernel's records, in any order.
    public var records: [UInt8] = []
    /// The events that they belong to, by their ids.
    public var streams: [UInt64: RecordStream] = [:]
    /// The layouts of tracepoint records.
    public var layouts = TracepointLayouts()
    /// The names of system calls by their numbers.
    public var callNames: [Int: String] = [:]
    /// The time between two samples of the main thread.
    public var samplingInterval: Duration = .zero
    /// Stops at boundaries; on rung C they take the place of records.
    public var stops: [Stop] = []
    /// The probes of constructors, to which ``RecordStream/constructor(_:)`` refers; nil if they are not timed.
    public var probes: [Probe]?
    /// What blocked threads were seen in.
    public var looks: [Look] = []
    /// What the program reported, and what was seen of it from outside.
    public var marks: [(kind: LaunchMark.Kind, time: Instant, name: String?)] = []
    /// What is known of the threads.
    public var threads: [ThreadFacts] = []
    /// What ended the launch.
    public var end: (kind: LaunchEnd.Kind, time: Instant, code: Int32?)
    /// When the recording stopped; not before the end.
    public var stopped: Instant

    /// Begins a log.
    public init(requested: Instant, process: Int32, rung: Rung) {
        self.requested = requested
        self.process = process
        self.rung = rung
        end = (.timeLimit, requested, nil)
        stopped = requested
    }
}
