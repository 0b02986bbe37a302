// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogCapture
import WatchdogVerdict

/// One pass over a snapshot: unwinds every thread and names its frames.
struct SymbolicationRun {
    /// A deeper stack is runaway recursion, which its innermost frames identify.
    private static let framesPerThread = 512
    /// The number of these that are outermost frames, which show the caller that started the recursion.
    private static let outermostFrames = 64
    /// The maximum number of native frames between two methods of Java.
    private static let framesBetweenMethods = 64
    /// The approximate maximum size of the result's JSON, in bytes; its readers have limits, too.
    private static let outputLimit = 12 << 20
    /// The approximate size of a thread without its frames.
    private static let outputPerThread = 1536
    /// The maximum number of threads in a note.
    private static let noteLimit = 8

    private let contents: SnapshotContents
    private let images: ImageTable
    private let unwinder: Unwinder
    private let asynchronous: AsynchronousStack
    private let python: PythonStacks?
    private let goroutines: GoroutineStacks?
    private let java: JavaStacks?
    private let scripts: ScriptStacks?
    private let generated: GeneratedCode
    private let namer: FrameNamer
    private let attempt: Attempt
    private let budget: TimeBudget
    private let now: () -> Instant
    private var notes: [String]
    /// Threads whose outermost frames could not be found.
    private var lost: [Int32] = []
    /// Threads with more frames than allowed.
    private var cut: [Int32] = []
    /// Threads whose middle frames are omitted.
    private var elided: [Int32] = []
    /// The remaining output for the threads that follow.
    private var outputLeft: Int
    /// The lowest depth that was used instead of the requested one.
    private var leastDepth: Depth?

    /// Prepares the pass; nil if there is no memory for it.
    ///
    /// - Parameters:
    ///   - contents: The snapshot.
    ///   - modules: Descriptors, indexed by the snapshot's module numbers.
    ///   - attempt: The depth, and the images that libdw must not parse.
    ///   - now: The clock that the attempt's deadline refers to.
    ///   - willParse: Called with the index of an image before libdw parses its bytes.
    init?(
        _ contents: SnapshotContents,
        modules: [Int32],
        attempt: Attempt,
        now: @escaping () -> Instant,
        willParse: @escaping (Int) -> Void = { _ in }
    ) {
        var files = ImageFiles(contents, modules: modules)
        let mapped = Image.images(of: contents.mappings).map { ($0, files.open($0)) }
            .filter { !GeneratedCode.isGenerated($0.0, $0.1) }
        let list = mapped.map(\.0)
        let opened = mapped.map(\.1)
        let excluded = attempt.depth == .addresses ? Set(list.indices) : Set(attempt.excluded)
        guard let images = ImageTable(images: list, files: opened, excluded: excluded, willParse: willParse) else {
            return nil
        }
        let symbols = Symbols(images)
        self.contents = contents
        self.images = images
        self.attempt = attempt
        unwinder = Unwinder(
            space: AddressSpace(mappings: contents.mappings),
            images: images,
            symbols: symbols,
            callFrames: CallFrameInformation(images),
            memory: CapturedMemory(
                contents.threads.flatMap { [$0.stack, $0.interruptedStack, $0.outerStack].compactMap(\.self) }
                    + (contents.goroutines?.goroutines.compactMap(\.stack) ?? [])),
            stackLayouts: StackLayouts(images)
        )
        asynchronous = AsynchronousStack(contents.asynchronousContexts, symbols: symbols)
        python = PythonStacks(contents.interpreter)
        goroutines = GoroutineStacks(contents)
        java = JavaStacks(contents.java)
        scripts = ScriptStacks(contents.scripts)
        let lines = SourceLines(images, excluding: Set(attempt.withoutLines))
        generated = GeneratedCode(contents, modules: modules)
        namer = FrameNamer(images: images, symbols: symbols, lines: lines, generated: generated)
        budget = TimeBudget(depth: attempt.depth, now: now(), deadline: attempt.deadline)
        self.now = now
        outputLeft = SymbolicationRun.outputLimit - SymbolicationRun.outputPerThread * contents.threads.count
        leastDepth = attempt.depth
        notes = files.notes + attempt.notes(images: list)
        if let truncation = contents.process.truncation { notes.append("snapshot: \(truncation)") }
        notes += [python?.note, goroutines?.note, java?.note, scripts?.note].compactMap(\.self)
    }

    /// Performs the pass.
    mutating func perform() -> CapturedProcess {
        // Unwind all threads first, which is fast, so that naming one thread cannot use up the time for another's
        // stack.
        let stacks = contents.threads.map { unwound($0) }
        var threads: [CapturedThread] = []
        for (index, (thread, stack)) in zip(contents.threads, stacks).enumerated() {
            // A thread's unused share of the output goes to the following threads.
            threads.append(captured(thread, stack, output: outputLeft / (contents.threads.count - index)))
        }
        let goroutines = goroutines
        let captureOfGoroutines = goroutines?.captured { frames(of: $0) }
        switch leastDepth {
        case attempt.depth: break
        case .names: notes.append("time ran out: later frames have no source lines")
        case .addresses, .lines: notes.append("time ran out: later frames have no names")
        case nil: notes.append("time ran out: later stacks are missing")
        }
        if namer.usesUnknownImage, let note = generated.note { notes.append(note) }
        note("their outermost frames are missing", lost)
        note("only their innermost frames are shown", cut)
        note("only their innermost and outermost frames are shown", elided)
        var captured = CapturedProcess(
            method: contents.process.method,
            methodReason: contents.process.methodReason,
            frozenNanoseconds: UInt64(max(0, contents.process.frozen.nanoseconds)),
            threads: threads,
            images: binaryImages() + (namer.usesUnknownImage ? [.unknown] : []),
            interpreterLockHolder: contents.interpreter?.lockHolder.map(Int.init),
            notes: notes
        )
        captured.goroutines = captureOfGoroutines
        captured.shortage = leastDepth == attempt.depth ? attempt.shortage : "time ran out"
        return captured
    }

    private mutating func note(_ what: String, _ threads: [Int32]) {
        guard !threads.isEmpty else { return }
        let names = threads.prefix(SymbolicationRun.noteLimit).map { "\($0)" }.joined(separator: ", ")
        let more = threads.count - SymbolicationRun.noteLimit
        notes.append("threads \(names)\(more > 0 ? " and \(more) more" : ""): \(what)")
    }

    private func binaryImages() -> [BinaryImage] {
        images.images.enumerated().map { index, image in
            BinaryImage(
                base: image.range.lowerBound,
                size: image.range.upperBound - image.range.lowerBound,
                buildID: images.file(of: index)?.buildID,
                path: image.path,
                name: image.name,
                architecture: X86_64.name
            )
        }
    }

    /// The machine frames of a thread.
    private struct Stack {
        var frames: [Unwinder.Frame]
        var end: Unwinder.End
        /// The outermost frames, if the middle ones are omitted.
        var outermost: [Unwinder.Frame] = []
        /// What follows the frames in a Java virtual machine.
        var rest: [Part] = []
    }

    /// A part of a thread's stack.
    private enum Part {
        case machine([Unwinder.Frame])
        case methods([Frame])
    }

    /// Unwinds a thread; nil without registers or time.
    private mutating func unwound(_ thread: SnapshotThread) -> Stack? {
        guard let registers = Registers(thread), depth(forNames: false) != nil else { return nil }
        let isOutOfTime = { [budget, now] in budget.depth(at: now()) == nil }
        let (frames, end, position) = unwinder.unwind(
            registers, limit: Self.framesPerThread, isOutOfTime: isOutOfTime)
        var stack = Stack(frames: frames, end: end)
        if let parts = java?.parts(ofThread: thread.id, unknown: namer.unknownImage) {
            return joined(stack, parts, isOutOfTime)
        }
        // Not for Python: the interpreter has its own list of calls.
        if python == nil, end == .limit || end == .lost && thread.outerStack != nil {
            stack.outermost = unwinder.outermost(
                Self.outermostFrames, from: position, in: thread.outerStack, isOutOfTime: isOutOfTime)
        }
        return stack
    }

    /// A stack with the methods of Java.
    ///
    /// Native code ends where generated code begins, or where code that has called methods goes on.
    private func joined(_ stack: Stack, _ parts: [JavaStacks.Part], _ isOutOfTime: () -> Bool) -> Stack {
        var joined = stack
        let callers = Set(parts.compactMap(\.programCounter))
        func native(_ frames: [Unwinder.Frame]) -> [Unwinder.Frame] {
            Array(
                frames.prefix { frame in
                    images.index(containing: frame.lookupAddress) != nil && !callers.contains(frame.programCounter)
                })
        }
        for part in parts {
            switch part {
            case .innermost: joined.frames = native(stack.frames)
            case .methods(let calls): joined.rest.append(.methods(calls))
            case .callers(let registers):
                let (frames, end, _) = unwinder.unwind(
                    registers, isReturnAddress: true, trust: .framePointer, limit: Self.framesBetweenMethods,
                    isOutOfTime: isOutOfTime)
                joined.rest.append(.machine(frames.prefix(1) + native(Array(frames.dropFirst()))))
                joined.end = end
            }
        }
        return joined
    }

    private mutating func captured(_ thread: SnapshotThread, _ stack: Stack?, output share: Int) -> CapturedThread {
        var captured = CapturedThread(facts: thread)
        captured.javaLockOwner = contents.java?.lockOwners[thread.id].map(Int.init)
        guard let stack else { return captured }
        let (frames, end) = (stack.frames, stack.end)
        var size = 0
        let outermost = stack.outermost.flatMap {
            named($0.programCounter, $0.lookupAddress, .outerEnd, false, &size)
        }
        let room = Self.framesPerThread - outermost.count
        var steps: [PythonStacks.Step] = []
        for (index, frame) in frames.enumerated() where size < share {
            var shown = named(frame.programCounter, frame.lookupAddress, frame.trust, index == 0, &size)
            let function = scripts?.function(
                at: frame, shown: shown, ofThread: thread.id,
                isGenerated: images.index(containing: frame.lookupAddress) == nil)
            if let function {
                size += function.approximateSize
                shown = [function]
            }
            let isEvaluator = python?.isEvaluator(frame.lookupAddress, symbol: shown.last?.symbol) ?? false
            steps.append(PythonStacks.Step(frames: shown, isEvaluator: isEvaluator))
        }
        captured.frames = steps.flatMap(\.frames)
        for part in stack.rest {
            switch part {
            case .machine(let frames):
                for frame in frames where size < share {
                    captured.frames += named(frame.programCounter, frame.lookupAddress, frame.trust, false, &size)
                }
            case .methods(let calls):
                for call in calls where size < share {
                    size += call.approximateSize
                    captured.frames.append(call)
                }
            }
        }
        if !outermost.isEmpty {
            captured.frames = captured.frames.prefix(room) + outermost
            elided.append(thread.id)
        }
        // Both in one process are rare: the stack of a thread that runs Java is left as it is.
        if let python, stack.rest.isEmpty {
            let isComplete = end == .complete && steps.count == frames.count
            let shown = python.frames(ofThread: thread.id, among: steps, isComplete: isComplete)
            size = 0
            captured.frames = []
            for frame in shown where size < share {
                size += frame.approximateSize
                captured.frames.append(frame)
            }
        }
        for address in asynchronous.resumptions(of: frames) where size < share {
            captured.asynchronousFrames += named(address, address, .asynchronous, false, &size)
        }
        outputLeft -= size
        guard outermost.isEmpty else { return captured }
        if end == .limit || size >= share { cut.append(thread.id) } else if end == .lost { lost.append(thread.id) }
        return captured
    }

    /// The stack of a goroutine that is on no thread.
    private mutating func frames(of goroutine: SnapshotGoroutines.Goroutine) -> [Frame] {
        guard depth(forNames: false) != nil else { return [] }
        let isOutOfTime = { [budget, now] in budget.depth(at: now()) == nil }
        let stack = unwinder.unwind(
            Registers(goroutine), limit: GoroutineStacks.frameLimit, isOutOfTime: isOutOfTime)
        var (frames, size): ([Frame], Int) = ([], 0)
        for frame in stack.frames where size < outputLeft {
            frames += named(frame.programCounter, frame.lookupAddress, frame.trust, false, &size)
        }
        outputLeft -= size
        return frames
    }

    private mutating func named(
        _ address: UInt64,
        _ lookup: UInt64,
        _ trust: Frame.Trust,
        _ isInnermost: Bool,
        _ size: inout Int
    ) -> [Frame] {
        let depth = depth(forNames: true) ?? .addresses
        let frames = namer.frames(at: address, lookup: lookup, trust: trust, depth: depth, keepsThunks: isInnermost)
        size += frames.reduce(0) { $0 + $1.approximateSize }
        return frames
    }

    /// The depth to use now; nil if there is no time for stacks.
    ///
    /// - Parameter forNames: whether the stacks are complete, so that only names can be missing.
    private mutating func depth(forNames: Bool) -> Depth? {
        let depth = budget.depth(at: now())
        if let least = leastDepth {
            leastDepth = if let depth { min(depth, least) } else { forNames ? .addresses : nil }
        }
        return depth
    }
}

extension Frame {
    /// The size of the JSON in bytes.
    fileprivate var approximateSize: Int {
        200 + (symbol?.utf8.count ?? 0) + (sourceFile?.utf8.count ?? 0)
    }
}
