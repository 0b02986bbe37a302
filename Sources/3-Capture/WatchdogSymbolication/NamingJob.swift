// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogReport
import WatchdogVerdict

/// The job of `watchdogd-symbolicate --names`: reads addresses of a stored report and writes a ``NamingAnswer`` as
/// JSON.
struct NamingJob {
    /// The approximate maximum size of the result's JSON, in bytes.
    private static let outputLimit = 12 << 20
    /// The maximum size of a request.
    private static let requestLimit = 16 << 20

    private let request: NamingRequest
    private let modules: [Int32]

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - descriptor: A file with the request as JSON.
    ///   - firstModule: The descriptor of the first image's file; the other images' descriptors follow it.
    /// - Returns: nil if it is not a valid request.
    init?(descriptor: Int32, firstModule: Int32) {
        guard let bytes = Self.read(descriptor),
            let request = try? JSONDecoder().decode(NamingRequest.self, from: Data(bytes)), request.fault == nil
        else { return nil }
        self.request = request
        modules = request.images.indices.map { firstModule + Int32($0) }
    }

    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0,
            status.st_size <= requestLimit
        else { return nil }
        let size = Int(status.st_size)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
        }
        return bytes.count == size ? bytes : nil
    }

    /// Performs the job with the same precautions as ``SymbolicationJob``.
    func run(within budget: Duration, output: Int32) -> String? {
        SymbolicationJob(budget: budget).attempt(output: output) { attempt, clock, blackboard in
            guard var answer = answer(attempt, clock, { blackboard.image = $0 }) else { return EX_OSERR }
            answer.notes += blackboard.confinement.notes
            return blackboard.post(json: answer)
        }
    }

    private func answer(
        _ attempt: Attempt, _ clock: WorkClock, _ willParse: @escaping (Int) -> Void
    ) -> NamingAnswer? {
        // Any inode except 0, which stands for the vDSO; the first mapping begins at the start of the file.
        let list = request.images.map {
            Image(range: $0.base..<$0.base + $0.size, path: $0.path, inode: 1, offset: 0)
        }
        let excluded = attempt.depth == .addresses ? Set(list.indices) : Set(attempt.excluded)
        let files = modules.map { ImageFile(descriptor: $0) }
        guard let images = ImageTable(images: list, files: files, excluded: excluded, willParse: willParse) else {
            return nil
        }
        let lines = SourceLines(images, excluding: Set(attempt.withoutLines))
        let namer = FrameNamer(images: images, symbols: Symbols(images), lines: lines)
        let budget = TimeBudget(depth: attempt.depth, now: clock.now(), deadline: attempt.deadline)
        var left = Self.outputLimit
        var isCut = false
        let calls = request.addresses.map { address -> [NamingAnswer.Call] in
            let depth = budget.depth(at: clock.now()) ?? .addresses
            isCut = isCut || depth < attempt.depth || left <= 0
            guard left > 0, depth > .addresses else { return [.unknown] }
            let base = list[address.image].range.lowerBound
            let frames = namer.frames(
                at: base + address.offset, lookup: base + address.lookup, trust: .cfi, depth: depth,
                keepsThunks: address.isInnermost)
            left -= frames.reduce(0) { $0 + 200 + ($1.symbol?.utf8.count ?? 0) + ($1.sourceFile?.utf8.count ?? 0) }
            // Keep the end of the list: the last frame is the function into which the others are inlined.
            return frames.suffix(NamingAnswer.callLimit).map(NamingAnswer.Call.init)
        }
        var notes = attempt.notes(images: list)
        if isCut { notes.append("time or room ran out: not all frames were looked up in full") }
        return NamingAnswer(calls: calls, notes: notes)
    }
}

extension NamingAnswer.Call {
    fileprivate static let unknown = Self(
        symbol: nil, symbolLocation: nil, sourceFile: nil, sourceLine: nil, isInlined: false)

    fileprivate init(_ frame: Frame) {
        self.init(
            symbol: frame.symbol, symbolLocation: frame.symbolLocation, sourceFile: frame.sourceFile,
            sourceLine: frame.sourceLine, isInlined: frame.isInlined)
    }
}
