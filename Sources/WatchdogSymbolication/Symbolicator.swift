// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogPolicy
import WatchdogReport

/// One run over a snapshot: unwinds every thread and says what its frames are.
struct Symbolicator {
    /// A stack that goes deeper is a runaway recursion, and its innermost frames tell which.
    private static let framesPerThread = 512
    /// What all threads together may have, so that the report of thousands of threads stays bearable.
    private static let framesInAll = 1 << 16
    /// How many threads a note names.
    private static let noteLimit = 8

    private let contents: SnapshotContents
    private let images: ImageTable
    private let unwinder: Unwinder
    private let asynchronous: AsynchronousStack
    private let namer: FrameNamer
    private let attempt: Attempt
    private let budget: TimeBudget
    private let frameLimit: Int
    private var notes: [String]
    /// Threads whose outermost frames could not be found.
    private var lost: [Int32] = []
    /// Threads with more frames than there may be.
    private var cut: [Int32] = []
    /// The least that was done of what was to be done.
    private var leastDepth: Depth?

    /// Prepares the run; nil when there is no memory for it.
    ///
    /// - Parameters:
    ///   - contents: The snapshot.
    ///   - modules: Descriptors by the numbers that the snapshot gives its modules.
    ///   - attempt: How deep to go, and which images to keep from libdw.
    ///   - willParse: Called with the index of an image before libdw gets to see its bytes.
    init?(
        _ contents: SnapshotContents,
        modules: [Int32],
        attempt: Attempt,
        willParse: @escaping (Int) -> Void = { _ in }
    ) {
        let list = Image.images(of: contents.mappings)
        var files = ImageFiles(contents, modules: modules)
        let opened = list.map { files.open($0) }
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
            memory: CapturedMemory(contents.threads.compactMap(\.stack)),
            stackLayouts: StackLayouts(images)
        )
        asynchronous = AsynchronousStack(contents.asynchronousContexts, symbols: symbols)
        let lines = SourceLines(images, excluding: Set(attempt.withoutLines))
        namer = FrameNamer(images: images, symbols: symbols, lines: lines)
        budget = TimeBudget(depth: attempt.depth, now: .monotonic(), deadline: attempt.deadline)
        let share = Symbolicator.framesInAll / max(1, contents.threads.count)
        frameLimit = max(16, min(Symbolicator.framesPerThread, share))
        leastDepth = attempt.depth
        notes = files.notes + attempt.notes(images: list)
        if let truncation = contents.process.truncation { notes.append("snapshot: \(truncation)") }
    }

    /// Does the work.
    mutating func run() -> CapturedProcess {
        var threads: [CapturedThread] = []
        for thread in contents.threads { threads.append(captured(thread)) }
        switch leastDepth {
        case attempt.depth: break
        case .names: notes.append("time ran out: later frames have no source lines")
        case .addresses, .lines: notes.append("time ran out: later frames have no names")
        case nil: notes.append("time ran out: later threads have no stacks")
        }
        note("their outermost frames are missing", lost)
        note("only their innermost \(frameLimit) frames are shown", cut)
        return CapturedProcess(
            method: contents.process.method,
            methodReason: contents.process.methodReason,
            frozenNanoseconds: UInt64(max(0, contents.process.frozen.nanoseconds)),
            threads: threads,
            images: binaryImages() + (namer.usesUnknownImage ? [.unknown] : []),
            notes: notes
        )
    }

    private mutating func note(_ what: String, _ threads: [Int32]) {
        guard !threads.isEmpty else { return }
        let names = threads.prefix(Symbolicator.noteLimit).map { "\($0)" }.joined(separator: ", ")
        let more = threads.count - Symbolicator.noteLimit
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

    private mutating func captured(_ thread: SnapshotThread) -> CapturedThread {
        var captured = CapturedThread(facts: thread)
        guard let registers = Registers(thread), depth() != nil else { return captured }
        let (frames, end) = unwinder.unwind(registers, limit: frameLimit) { [budget] in
            budget.depth(at: .monotonic()) == nil
        }
        for (index, frame) in frames.enumerated() {
            captured.frames += namer.frames(
                at: frame.programCounter,
                lookup: frame.lookupAddress,
                trust: frame.trust,
                depth: depth() ?? .addresses,
                keepsThunks: index == 0
            )
        }
        for address in asynchronous.resumptions(of: frames) {
            captured.asynchronousFrames += namer.frames(
                at: address,
                lookup: address,
                trust: .asynchronous,
                depth: depth() ?? .addresses,
                keepsThunks: false
            )
        }
        switch end {
        case .complete, .outOfTime: break
        case .lost: lost.append(thread.id)
        case .limit: cut.append(thread.id)
        }
        return captured
    }

    private mutating func depth() -> Depth? {
        let depth = budget.depth(at: .monotonic())
        if let least = leastDepth { leastDepth = depth.map { min($0, least) } }
        return depth
    }
}
