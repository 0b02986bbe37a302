// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogPolicy
import WatchdogReport

/// One run over a snapshot: unwinds every thread and says what its frames are.
struct Symbolicator {
    /// A stack that goes deeper is a runaway recursion, and its innermost frames tell which.
    private static let framesPerThread = 512
    /// What all threads together may have, so that a report of thousands of threads stays readable by machines.
    private static let framesInAll = 1 << 17

    private let contents: SnapshotContents
    private let images: ImageTable
    private let symbols: Symbols
    private let unwinder: Unwinder
    private let asynchronous: AsynchronousStack
    private let namer: FrameNamer
    private let budget: TimeBudget
    private var notes: [String]

    /// Prepares the run.
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
        willParse: @escaping (Int) -> Void
    ) {
        let list = Image.images(of: contents.mappings)
        var files = ImageFiles(contents, modules: modules)
        let opened = list.map { files.open($0) }
        let excluded = attempt.depth == .addresses ? Set(list.indices) : Set(attempt.excluded)
        guard let images = ImageTable(images: list, files: opened, excluded: excluded, willParse: willParse) else {
            return nil
        }
        self.contents = contents
        self.images = images
        symbols = Symbols(images)
        unwinder = Unwinder(
            space: AddressSpace(mappings: contents.mappings),
            images: images,
            symbols: symbols,
            callFrames: CallFrameInformation(images),
            memory: CapturedMemory(contents.threads.compactMap(\.stack))
        )
        asynchronous = AsynchronousStack(contents.asynchronousContexts, symbols: symbols)
        namer = FrameNamer(images: images, symbols: symbols, lines: SourceLines(images))
        budget = TimeBudget(depth: attempt.depth, now: .monotonic(), deadline: attempt.deadline)
        notes = files.notes + attempt.notes(images: list)
        if let truncation = contents.process.truncation { notes.append("snapshot: \(truncation)") }
    }

    /// Does the work.
    mutating func run() -> CapturedProcess {
        let frameLimit = max(32, min(Symbolicator.framesPerThread, Symbolicator.framesInAll / max(1, contents.threads.count)))
        var threads: [CapturedThread] = []
        for thread in contents.threads { threads.append(captured(thread, frameLimit: frameLimit)) }
        if budget.depth(at: .monotonic()) < .lines { notes.append("out of time: later frames have fewer details") }
        var list = images.images.indices.map { index in
            let image = images.images[index]
            return BinaryImage(
                base: image.range.lowerBound,
                size: UInt64(image.range.count),
                buildID: images.file(of: index)?.buildID,
                path: image.path,
                name: image.name,
                architecture: "x86_64"
            )
        }
        if namer.usesUnknownImage { list.append(.unknown) }
        return CapturedProcess(
            method: contents.process.method,
            methodReason: contents.process.methodReason,
            frozenNanoseconds: UInt64(max(0, contents.process.frozen.nanoseconds)),
            threads: threads,
            images: list,
            notes: notes
        )
    }

    private mutating func captured(_ thread: SnapshotThread, frameLimit: Int) -> CapturedThread {
        var captured = CapturedThread(facts: thread)
        guard let registers = Registers(thread) else { return captured }
        let (frames, end) = unwinder.unwind(registers, limit: frameLimit)
        let depth = { [budget] in budget.depth(at: .monotonic()) }
        for (index, frame) in frames.enumerated() {
            captured.frames += namer.frames(
                at: frame.programCounter,
                lookup: frame.lookupAddress,
                trust: frame.trust,
                depth: depth(),
                keepsThunks: index == 0
            )
        }
        for address in asynchronous.resumptions(of: frames) {
            captured.asynchronousFrames += namer.frames(
                at: address,
                lookup: address,
                trust: .asynchronous,
                depth: depth(),
                keepsThunks: false
            )
        }
        switch end {
        case .complete: break
        case .lost: notes.append("thread \(thread.id): no caller found beyond frame \(frames.count - 1)")
        case .limit: notes.append("thread \(thread.id): only the innermost \(frameLimit) frames")
        }
        return captured
    }
}
