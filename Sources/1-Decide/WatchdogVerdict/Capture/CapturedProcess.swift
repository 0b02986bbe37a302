// SPDX-License-Identifier: Apache-2.0

/// The stacks of all threads of a process at one instant, with symbols if available.
///
/// `watchdogd-symbolicate` prints one as JSON; a ``Report`` is built around it. All numbers are integers.
public struct CapturedProcess: Codable, Sendable, Equatable {
    /// The method of a capture, best first.
    public enum Method: String, Codable, Sendable {
        /// All threads stopped by ptrace at one instant.
        case ptrace
        /// Stack pointer and program counter from `/proc/PID/task/TID/syscall`, without a stop of the process.
        case procfsRegisters = "procfs-registers"
        /// No stacks, only each thread's facts from `/proc`.
        case procfs
        /// From the core file that the kernel wrote when a signal ended the process.
        case core
        /// From systemd-coredump's journal entry, without registers.
        case journal
    }

    /// The method of the capture.
    public var method: Method
    /// The reason why no better method was possible, for the reader; nil for ``Method/ptrace``.
    public var methodReason: String?
    /// The time for which the process was stopped, in nanoseconds; 0 if it was not.
    public var frozenNanoseconds: UInt64
    /// The main thread first, the others by thread ID.
    public var threads: [CapturedThread]
    /// The images by load address.
    ///
    /// The last element may be the sentinel ``BinaryImage/unknown`` for frames outside every image.
    public var images: [BinaryImage]
    /// The thread that holds CPython's interpreter lock (GIL); nil if it is free or the thread is unknown.
    public var interpreterLockHolder: Int?
    /// The goroutines of a Go program; nil for others, or if they could not be read.
    public var goroutines: CapturedGoroutines?
    /// Notes about missing data and the reasons, one sentence each: a truncated stack, an unreadable module, an
    /// exhausted time budget.
    public var notes: [String]
    /// The reason for missing names or stacks that another attempt with the same snapshot may find; nil if there is
    /// none.
    public var shortage: String?

    /// Creates a capture from its parts.
    public init(
        method: Method,
        methodReason: String? = nil,
        frozenNanoseconds: UInt64 = 0,
        threads: [CapturedThread],
        images: [BinaryImage],
        interpreterLockHolder: Int? = nil,
        notes: [String] = []
    ) {
        self.method = method
        self.methodReason = methodReason
        self.frozenNanoseconds = frozenNanoseconds
        self.threads = threads
        self.images = images
        self.interpreterLockHolder = interpreterLockHolder
        self.notes = notes
    }
}

/// One thread: the kernel's facts about it, and its stack, innermost frame first.
public struct CapturedThread: Codable, Sendable, Equatable {
    /// The kernel's thread ID.
    public var id: Int
    /// The thread's name (`comm`), at most 15 bytes.
    public var name: String
    /// The state letter from field 3 of `/proc/PID/task/TID/stat`, before the freeze: `R`, `S`, `D`, `T`, `t`, `Z`,
    /// `X`, `I`.
    public var state: String
    /// `/proc/PID/task/TID/wchan`; nil if it is hidden or the thread runs in user space.
    public var waitChannel: String?
    /// `/proc/PID/task/TID/syscall`, verbatim.
    public var syscall: String?
    /// The function names on the kernel stack, innermost first; empty unless the supervisor runs as root.
    public var kernelStack: [String]
    /// Nanoseconds on a CPU since the thread started (schedstat field 1).
    public var runNanoseconds: UInt64
    /// Nanoseconds runnable but waiting for a CPU since the thread started (schedstat field 2).
    public var runDelayNanoseconds: UInt64
    /// The number of times that the thread blocked.
    public var voluntarySwitches: UInt64
    /// The number of times that the thread was preempted.
    public var involuntarySwitches: UInt64
    /// Register values by name (`rax` … `rip`, `rflags`); empty unless captured by ptrace.
    public var registers: [String: UInt64]
    /// The stack, innermost frame first.
    ///
    /// An inlined call is a separate frame with ``Frame/isInlined``, before the frame that contains it, at the same
    /// address.
    public var frames: [Frame]
    /// Swift's asynchronous callers, nearest first, if the thread runs a task; they are not part of the machine stack.
    public var asynchronousFrames: [Frame]
    /// The thread that has the lock of an object for which this thread of Java waits; nil if there is none, or if it is
    /// unknown.
    public var javaLockOwner: Int?

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
    /// The method that found the frame, most reliable first.
    public enum Trust: String, Codable, Sendable {
        /// From the registers themselves.
        case registers
        /// With the image's call frame information.
        case cfi
        /// From the function's first instructions, checked against the call site.
        case prologue
        /// From the frame pointer, checked against the call site.
        case framePointer = "frame-pointer"
        /// From a word on the stack that follows a call; may be stale.
        case scan
        /// From Swift's chain of asynchronous contexts.
        case asynchronous = "async"
        /// From the interpreter's own list of calls.
        case interpreter
        /// From the outer end of a stack that is too deep to show: the frames between it and the previous ones are
        /// omitted.
        case outerEnd = "outer-end"
    }

    /// The language of a function that is not machine code in a file: it is interpreted, or compiled at run time.
    public enum Language: String, Codable, Sendable {
        /// Python, run by CPython.
        case python
        /// JavaScript, run by V8.
        case javascript
        /// A language of the Java virtual machine.
        case java
        /// A language of .NET.
        case dotnet
        /// Erlang or Elixir.
        case erlang
        /// Code that some other runtime generated.
        case jit
    }

    /// The return address, or the program counter for the innermost frame.
    public var address: UInt64
    /// Index into ``CapturedProcess/images``.
    public var imageIndex: Int
    /// ``address`` minus the image's base.
    public var imageOffset: UInt64
    /// The demangled function name; nil if unknown.
    public var symbol: String?
    /// ``address`` minus the function's start; present exactly when ``symbol`` is, and 0 for an inlined frame and for
    /// one from the interpreter's own list of calls.
    public var symbolLocation: UInt64?
    /// The path of the source file, as in the debug information.
    public var sourceFile: String?
    /// The line in ``sourceFile``, from 1; in a function from a perf map, the line at which it begins.
    public var sourceLine: Int?
    /// True for a call that the compiler inlined into the next frame.
    public var isInlined: Bool
    /// The language of an interpreted function, or of one compiled at run time; nil for other machine code.
    ///
    /// A frame with the trust ``Trust/interpreter`` has the address of the interpreter's function that evaluates it,
    /// and replaces it.
    public var language: Language?
    /// The method that found the frame.
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
        language: Language? = nil,
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
        self.language = language
        self.trust = trust
    }
}

extension Frame {
    /// The machine-code function in a file: for an interpreted Python function, CPython's evaluator; nil for generated
    /// code, whose names are untrusted.
    var machineSymbol: String? {
        guard language != nil else { return symbol }
        return trust == .interpreter ? "_PyEval_EvalFrameDefault" : nil
    }

    /// `load_feed (app.py:12)`; nil without a symbol.
    package var place: String? {
        guard let symbol else { return nil }
        guard let file = sourceFile?.split(separator: "/").last else { return symbol }
        return "\(symbol) (\(file)\(sourceLine.map { ":\($0)" } ?? ""))"
    }

    /// Whether two stacks show the same call, although one of them may lack symbols.
    func isSameCall(as other: Frame) -> Bool {
        guard address == other.address, language == other.language else { return false }
        let isSamePlace = sourceFile == other.sourceFile && sourceLine == other.sourceLine
        return language == nil || symbol == other.symbol && isSamePlace
    }
}

/// One ELF file mapped into the process.
public struct BinaryImage: Codable, Sendable, Equatable {
    /// Load address of the first mapping; 0 for ``unknown``.
    public var base: UInt64
    /// Bytes from ``base`` to the end of the last mapping.
    public var size: UInt64
    /// The GNU build ID in lower-case hexadecimal; nil if the image has none or could not be read.
    public var buildID: String?
    /// The path as in `/proc/PID/maps`, with a trailing " (deleted)" if the kernel appends it.
    public var path: String
    /// The last component of the path.
    public var name: String
    /// The architecture in the spelling of Apple's tools: `x86_64`, `arm64`.
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

    /// The image for frames outside all images.
    public static let unknown = BinaryImage(base: 0, size: 0, buildID: nil, path: "", name: "???", architecture: "")
}
