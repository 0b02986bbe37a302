// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

/// The threads and images of a capture in the form of a report, within ``ReportLimits``.
struct StackInfo {
    private(set) var threads: [ThreadInfo] = []
    private(set) var details: [ThreadDetails] = []
    private(set) var images: [ImageInfo] = []
    private(set) var goroutines: GoroutineDetails?
    private(set) var buildIDs: [String?] = []
    private(set) var faultingThread = 0
    private(set) var notes: [String] = []
    /// The remaining bytes for frames.
    private(set) var bytesLeft: Int
    private var absentImage: Int?

    /// - Parameters:
    ///   - captured: the capture; nil without one. The main thread is then listed without frames, because readers
    ///     require a faulting thread.
    ///   - main: the thread that runs the main loop.
    ///   - state: the main thread's state, used if `captured` is nil.
    ///   - frameBytes: the maximum size of all frames in the file.
    init(
        _ captured: CapturedProcess?, main: Int, name: String, state: Character?,
        frameBytes: Int = ReportLimits.frameBytes
    ) {
        bytesLeft = frameBytes
        for image in captured?.images.prefix(ReportLimits.images) ?? [] {
            images.append(ImageInfo(image))
            buildIDs.append(image.buildID.map { $0.singleLine(limit: 128) })
        }
        var source = captured?.threads ?? []
        if source.isEmpty { source = [CapturedThread(id: main, name: name, state: state.map(String.init) ?? "?")] }
        if source.count > ReportLimits.threads {
            notes.append("\(source.count - ReportLimits.threads) threads were left out")
            source = Array(source.prefix(ReportLimits.threads))
        }
        faultingThread = source.firstIndex { $0.id == main } ?? 0
        for (index, thread) in source.enumerated() { append(thread, isFaulting: index == faultingThread) }
        if let goroutines = captured?.goroutines { append(goroutines) }
        noteScannedFrames()
    }

    /// The threads of a process that is not the main process, with only those images that frames refer to.
    ///
    /// - Parameter first: the process's first thread.
    init(of captured: CapturedProcess, first: Int, frameBytes: Int) {
        var captured = captured
        // Frames beyond these are dropped below.
        let most = ReportLimits.framesPerThread
        var used: Set<Int> = []
        for thread in captured.threads.prefix(ReportLimits.threads) {
            used.formUnion(thread.frames.prefix(most).lazy.map(\.imageIndex))
            used.formUnion(thread.asynchronousFrames.prefix(most).lazy.map(\.imageIndex))
        }
        let kept = used.filter(captured.images.indices.contains).sorted()
        let numbers = Dictionary(uniqueKeysWithValues: kept.enumerated().map { ($0.element, $0.offset) })
        captured.goroutines = nil
        captured.images = kept.map { captured.images[$0] }
        func renumber(_ frames: inout [Frame]) {
            for index in frames.indices.prefix(most) {
                frames[index].imageIndex = numbers[frames[index].imageIndex] ?? kept.count
            }
        }
        for index in captured.threads.indices.prefix(ReportLimits.threads) {
            renumber(&captured.threads[index].frames)
            renumber(&captured.threads[index].asynchronousFrames)
        }
        self.init(captured, main: first, name: "", state: nil, frameBytes: frameBytes)
        threads[faultingThread].triggered = nil
        threads[faultingThread].threadState = nil
    }

    /// The stack of a thread; nil if the thread was not captured.
    func stack(of thread: Int, executable: String) -> ReportStack? {
        threads.firstIndex { $0.id == thread }.map { index in
            ReportStack(
                index, threads[index], details[index], images: ImageOrigins(images, executable: executable),
                isFaulting: index == faultingThread)
        }
    }

    private mutating func append(_ thread: CapturedThread, isFaulting: Bool) {
        let kept = affordable(thread.frames)
        if kept.count < thread.frames.count {
            notes.append("\(thread.frames.count - kept.count) outer frames of thread \(threads.count) were left out")
        }
        let frames = kept.map { info($0) }
        let asynchronous = affordable(thread.asynchronousFrames).map { info($0) }
        threads.append(
            ThreadInfo(
                id: thread.id,
                triggered: isFaulting ? true : nil,
                name: thread.name.isEmpty ? nil : thread.name.singleLine(limit: 64),
                threadState: isFaulting ? ThreadState(thread.registers) : nil,
                frames: frames
            ))
        details.append(
            ThreadDetails(
                id: thread.id,
                state: thread.state.singleLine(limit: 8),
                waitChannel: thread.waitChannel?.singleLine(limit: 64),
                syscall: thread.syscall?.singleLine(limit: 256),
                kernelStack: thread.kernelStack.prefix(64).map { $0.singleLine(limit: 128) },
                runNanoseconds: thread.runNanoseconds,
                runDelayNanoseconds: thread.runDelayNanoseconds,
                voluntarySwitches: thread.voluntarySwitches,
                involuntarySwitches: thread.involuntarySwitches,
                trust: kept.map(\.trust),
                asynchronousFrames: asynchronous
            ))
    }

    private mutating func append(_ captured: CapturedGoroutines) {
        var shown: [GoroutineInfo] = []
        for goroutine in captured.shown.prefix(ReportLimits.goroutines) {
            let kept = affordable(goroutine.frames)
            shown.append(
                GoroutineInfo(
                    id: goroutine.id,
                    state: goroutine.state.singleLine(limit: 64),
                    waitNanoseconds: goroutine.waitNanoseconds,
                    thread: goroutine.thread,
                    others: goroutine.others.isEmpty ? nil : Array(goroutine.others.prefix(ReportLimits.goroutines)),
                    descriptors: goroutine.descriptors.isEmpty
                        ? nil : Array(goroutine.descriptors.prefix(ReportLimits.goroutines)),
                    frames: kept.map { info($0) },
                    trust: kept.map(\.trust)
                ))
        }
        goroutines = GoroutineDetails(
            version: captured.version?.singleLine(limit: 32), count: captured.count,
            activeCount: captured.activeCount, shown: shown)
    }

    /// The innermost frames that fit.
    private mutating func affordable(_ frames: [Frame]) -> ArraySlice<Frame> {
        var count = 0
        for frame in frames.prefix(ReportLimits.framesPerThread) {
            let cost = 300 + Self.jsonBytes(frame.symbol) + Self.jsonBytes(frame.sourceFile)
            guard cost <= bytesLeft else { break }
            bytesLeft -= cost
            count += 1
        }
        return frames.prefix(count)
    }

    /// An upper bound for the text's size in the file: JSON doubles quotes and backslashes, and an escaped character
    /// becomes five.
    private static func jsonBytes(_ text: String?) -> Int {
        guard let text else { return 0 }
        return min(text.utf8.count, ReportLimits.symbolLength * 4) * (text.utf8.allSatisfy { $0 >= 0x20 } ? 2 : 6)
    }

    /// The build ID of the file with this path; nil if it has none, or if no frame refers to it.
    func buildID(of path: String) -> String? {
        images.firstIndex { $0.path == path }.flatMap { buildIDs[$0] }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private mutating func info(_ frame: Frame) -> FrameInfo {
        let isKnown = images.indices.contains(frame.imageIndex) && frame.imageIndex != absentImage
        let hasSource = frame.sourceFile != nil
        return FrameInfo(
            imageOffset: isKnown ? frame.imageOffset : frame.address,
            imageIndex: isKnown ? frame.imageIndex : indexOfAbsentImage(),
            symbol: frame.symbol?.singleLine(limit: ReportLimits.symbolLength),
            symbolLocation: frame.symbol == nil ? nil : frame.symbolLocation ?? 0,
            sourceFile: frame.sourceFile?.singleLine(limit: ReportLimits.symbolLength),
            sourceLine: hasSource ? max(0, frame.sourceLine ?? 0) : nil,
            inline: frame.isInlined ? true : nil,
            language: frame.language?.rawValue
        )
    }

    private mutating func indexOfAbsentImage() -> Int {
        if let absentImage { return absentImage }
        let index = images.firstIndex(of: .absent) ?? images.count
        if index == images.count {
            images.append(.absent)
            buildIDs.append(nil)
        }
        absentImage = index
        return index
    }

    private mutating func noteScannedFrames() {
        guard let note = Self.scanNote(details[faultingThread].trust, thread: faultingThread) else { return }
        notes.append(note)
    }

    /// The note about a thread's frames that were found by scanning; nil without any.
    static func scanNote(_ trust: [Frame.Trust], thread: Int) -> String? {
        let scanned = trust.indices.filter { trust[$0] == .scan }
        guard !scanned.isEmpty else { return nil }
        let numbers = scanned.prefix(8).map(String.init).joined(separator: ", ") + (scanned.count > 8 ? ", ..." : "")
        let frames =
            scanned.count == 1
            ? "Frame \(numbers) of thread \(thread) was" : "Frames \(numbers) of thread \(thread) were"
        return "\(frames) found by scanning the stack and may be stale"
    }
}

extension ImageInfo {
    /// The image in the form of a report.
    init(_ image: BinaryImage) {
        guard image.base != 0 || image.size != 0 || image.buildID != nil else {
            self = .absent
            return
        }
        self.init(
            source: "P",
            arch: image.architecture.isEmpty ? "unknown-arch" : image.architecture.singleLine(limit: 32),
            base: image.base,
            size: image.size,
            uuid: Self.uuid(buildID: image.buildID),
            path: image.path.singleLine(limit: ReportLimits.symbolLength),
            name: image.name.singleLine(limit: 255)
        )
    }

    /// The first 16 bytes of a build ID as a UUID, padded with zeros if the build ID is shorter.
    static func uuid(buildID: String?) -> String {
        let digits = (buildID ?? "").prefix(32)
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return absent.uuid }
        let full = digits + String(repeating: "0", count: 32 - digits.count)
        guard let high = UInt64(full.prefix(16), radix: 16), let low = UInt64(full.suffix(16), radix: 16) else {
            return absent.uuid
        }
        return IncidentID.dashed(high, low)
    }
}

extension ThreadState {
    /// The register names in Apple's order, which the text report uses, too.
    package static let x86Names = [
        "rax", "rbx", "rcx", "rdx", "rdi", "rsi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
        "rip", "rflags", "cr2",
    ]

    /// Creates the registers of a captured thread, possibly none; segment registers and the like are omitted.
    init(_ registers: [String: UInt64]) {
        let known = registers.filter { Self.x86Names.contains($0.key) }
        self.init(flavor: Self.x86, registers: known.mapValues { Register(value: $0) })
    }
}
