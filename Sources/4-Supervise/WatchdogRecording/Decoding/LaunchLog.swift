// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The raw observations of a launch, from which a recording is decoded.
public struct LaunchLog: Sendable {
    /// A program executed by the launched process.
    public struct Execution: Sendable {
        /// The time at which its execve(2) returned.
        public var time: Instant
        /// The path of the file.
        public var path: String
        /// Its image; nil if the process was not stopped there.
        public var image: ProgramImage?
        /// The time at which the process continued after the recorder had set its breakpoints; nil if it was not
        /// stopped.
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
        /// The index of the execution.
        public var program: Int
        /// The time at which the recorder noticed it.
        public var time: Instant
        /// The main thread's CPU time until then.
        public var accounting: ThreadTime?
        /// The time at which the recorder let the process continue.
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

    /// A system call in which a thread was observed to be blocked.
    public struct Look: Sendable {
        /// The thread ID.
        public var thread: Int32
        /// The time.
        public var time: Instant
        /// The system call's name.
        public var call: String
        /// What the call waits for, in the words of a verdict: `fd 3: pipe, other end in this process`; nil if it was not
        /// examined, or if nothing is known.
        public var subject: String?

        /// Creates a look.
        public init(thread: Int32, time: Instant, call: String, subject: String? = nil) {
            self.thread = thread
            self.time = time
            self.call = call
            self.subject = subject
        }
    }

    /// The facts about a thread from `/proc`.
    public struct ThreadFacts: Sendable {
        /// The process ID.
        public var process: Int32
        /// The thread ID.
        public var thread: Int32
        /// Its name.
        public var name: String
        /// The scheduling policy and priority.
        public var scheduling: ThreadScheduling?
        /// The kernel's account since the start of the recording; `blocked` is zero.
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
        /// The index of the execution.
        public var program: Int
        /// The path of the file, from the kernel.
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

    /// The time of the request.
    public var requested: Instant
    /// The ID of the launched process.
    public var process: Int32
    /// The rung of the recording.
    public var rung: Rung
    /// The executions, in order.
    public var executions: [Execution] = []
    /// Whether a thread other than the first has executed a program, which the tracer of the first does not see: where
    /// that program starts is unknown.
    public var isReplaced = false
    /// The kernel's records, in any order.
    public var records: [UInt8] = []
    /// The events of the records, by their IDs.
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
    /// The calls in which threads were observed to be blocked.
    public var looks: [Look] = []
    /// The program's own reports, and observations from outside.
    public var marks: [(kind: LaunchMark.Kind, time: Instant, name: String?)] = []
    /// The facts about the threads.
    public var threads: [ThreadFacts] = []
    /// The end of the launch.
    public var end: (kind: LaunchEnd.Kind, time: Instant, code: Int32?)
    /// The end of the recording; not before that of the launch.
    public var stopped: Instant

    /// Creates an empty log.
    public init(requested: Instant, process: Int32, rung: Rung) {
        self.requested = requested
        self.process = process
        self.rung = rung
        end = (.timeLimit, requested, nil)
        stopped = requested
    }
}
