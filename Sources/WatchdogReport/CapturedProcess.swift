// SPDX-License-Identifier: Apache-2.0

/// Every thread's stack of one process at one moment, with symbols where they could be had.
///
/// `watchdogd-symbolicate` prints one as JSON; a ``Report`` is built around it. All numbers are integers.
public struct CapturedProcess: Codable, Sendable, Equatable {
    /// How the registers and stacks were taken, best first.
    public enum Method: String, Codable, Sendable {
        /// All threads stopped by ptrace at one instant.
        case ptrace
        /// Stack pointer and program counter from `/proc/PID/task/TID/syscall`, without stopping the process.
        case procfsRegisters = "procfs-registers"
        /// No stacks: only what `/proc` says of each thread.
        case procfs
        /// From the core file that the kernel wrote when a signal ended the process.
        case core
        /// From what systemd-coredump wrote to the journal, without registers.
        case journal
    }

    /// How the stacks were taken.
    public var method: Method
    /// Why no better method was possible, in words for the reader; nil for ``Method/ptrace``.
    public var methodReason: String?
    /// Nanoseconds for which the process was stopped; 0 when it was not.
    public var frozenNanoseconds: UInt64
    /// The main thread first, the others by thread id.
    public var threads: [CapturedThread]
    /// The images by load address.
    ///
    /// The last element may be the sentinel ``BinaryImage/unknown`` for frames outside every image.
    public var images: [BinaryImage]
    /// What could not be had and why, one sentence each: a truncated stack, an unreadable module, a spent time budget.
    public var notes: [String]

    /// Creates a capture from its parts.
    public init(
        method: Method,
        methodReason: String? = nil,
        frozenNanoseconds: UInt64 = 0,
        threads: [CapturedThread],
        images: [BinaryImage],
        notes: [String] = []
    ) {
        self.method = method
        self.methodReason = methodReason
        self.frozenNanoseconds = frozenNanoseconds
        self.threads = threads
        self.images = images
        self.notes = notes
    }
}

/// One thread: what the kernel says of it, and its stack, innermost frame first.
public struct CapturedThread: Codable, Sendable, Equatable {
    /// Kernel thread id.
    public var id: Int
    /// The thread's name (`comm`), at most 15 bytes.
    public var name: String
    /// The letter of `/proc/PID/task/TID/stat` field 3, before the freeze: `R`, `S`, `D`, `T`, `t`, `Z`, `X`, `I`.
    public var state: String
    /// `/proc/PID/task/TID/wchan`, or nil when it is hidden or the thread runs in user space.
    public var waitChannel: String?
    /// `/proc/PID/task/TID/syscall`, verbatim.
    public var syscall: String?
    /// The kernel stack's function names, innermost first; empty unless the supervisor is root.
    public var kernelStack: [String]
    /// Nanoseconds on a CPU since the thread began (schedstat field 1).
    public var runNanoseconds: UInt64
    /// Nanoseconds runnable but waiting for a CPU since the thread began (schedstat field 2).
    public var runDelayNanoseconds: UInt64
    /// Voluntary and involuntary context switches.
    public var voluntarySwitches: UInt64
    /// Times the thread was preempted.
    public var involuntarySwitches: UInt64
    /// Register values by name (`rax` … `rip`, `rflags`); empty when not taken by ptrace.
    public var registers: [String: UInt64]
    /// The stack, innermost first.
    ///
    /// An inlined call is a frame of its own with ``Frame/isInlined``, before the frame that
    /// contains it, at the same address.
    public var frames: [Frame]
    /// Swift's asynchronous callers, nearest first, when the thread runs a task; not part of the machine stack.
    public var asynchronousFrames: [Frame]

    /// Creates a thread from its parts.
    public init(
        id: Int,
        name: String,
        state: String,
        waitChannel: String? = nil,
        syscall: String? = nil,
        kernelStack: [String] = [],
        runNanoseconds: UInt64 = 0,
        runDelayNanoseconds: UInt64 = 0,
        voluntarySwitches: UInt64 = 0,
        involuntarySwitches: UInt64 = 0,
        registers: [String: UInt64] = [:],
        frames: [Frame] = [],
        asynchronousFrames: [Frame] = []
    ) {
        self.id = id
        self.name = name
        self.state = state
        self.waitChannel = waitChannel
        self.syscall = syscall
        self.kernelStack = kernelStack
        self.runNanoseconds = runNanoseconds
        self.runDelayNanoseconds = runDelayNanoseconds
        self.voluntarySwitches = voluntarySwitches
        self.involuntarySwitches = involuntarySwitches
        self.registers = registers
        self.frames = frames
        self.asynchronousFrames = asynchronousFrames
    }
}

/// One call on a stack.
public struct Frame: Codable, Sendable, Equatable {
    /// How the frame was found, most trustworthy first.
    public enum Trust: String, Codable, Sendable {
        /// The registers themselves.
        case registers
        /// Call frame information of the image.
        case cfi
        /// The function's first instructions, checked against the call site.
        case prologue
        /// The frame pointer, checked against the call site.
        case framePointer = "frame-pointer"
        /// A word on the stack that follows a call; may be stale.
        case scan
        /// Swift's chain of asynchronous contexts.
        case asynchronous = "async"
    }

    /// The return address, or the program counter for the innermost frame.
    public var address: UInt64
    /// Index into ``CapturedProcess/images``.
    public var imageIndex: Int
    /// ``address`` minus the image's base.
    public var imageOffset: UInt64
    /// Demangled function name, or nil when unknown.
    public var symbol: String?
    /// ``address`` minus the function's start; present exactly when ``symbol`` is, and 0 for an inlined frame.
    public var symbolLocation: UInt64?
    /// Path of the source file as the debug information names it.
    public var sourceFile: String?
    /// Line in ``sourceFile``, from 1.
    public var sourceLine: Int?
    /// True for a call that the compiler inlined into the next frame.
    public var isInlined: Bool
    /// How the frame was found.
    public var trust: Trust

    /// Creates a frame from its parts.
    public init(
        address: UInt64,
        imageIndex: Int,
        imageOffset: UInt64,
        symbol: String? = nil,
        symbolLocation: UInt64? = nil,
        sourceFile: String? = nil,
        sourceLine: Int? = nil,
        isInlined: Bool = false,
        trust: Trust
    ) {
        self.address = address
        self.imageIndex = imageIndex
        self.imageOffset = imageOffset
        self.symbol = symbol
        self.symbolLocation = symbolLocation
        self.sourceFile = sourceFile
        self.sourceLine = sourceLine
        self.isInlined = isInlined
        self.trust = trust
    }
}

/// One ELF file mapped into the process.
public struct BinaryImage: Codable, Sendable, Equatable {
    /// Load address of the first mapping; 0 for ``unknown``.
    public var base: UInt64
    /// Bytes from ``base`` to the end of the last mapping.
    public var size: UInt64
    /// GNU build-id in lower-case hexadecimal, or nil when the image has none or could not be read.
    public var buildID: String?
    /// Path as in `/proc/PID/maps`, with a trailing " (deleted)" where the kernel says so.
    public var path: String
    /// The path's last component.
    public var name: String
    /// The architecture as Apple's tools spell it: `x86_64`, `arm64`.
    public var architecture: String

    /// Creates an image from its parts.
    public init(base: UInt64, size: UInt64, buildID: String?, path: String, name: String, architecture: String) {
        self.base = base
        self.size = size
        self.buildID = buildID
        self.path = path
        self.name = name
        self.architecture = architecture
    }

    /// Where frames point whose address lies in no image.
    public static let unknown = BinaryImage(base: 0, size: 0, buildID: nil, path: "", name: "???", architecture: "")
}
