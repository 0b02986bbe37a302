// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import FoundationEssentials
import WatchdogBase
import WatchdogVerdict

extension CapturedProcess {
    private static let imageLimit = 4096
    private static let noteLimit = 1024
    private static let goroutineLimit = Int(WD_GO_MAX_GOROUTINES)

    /// Decodes and checks the output of `watchdogd-symbolicate`, which is not trusted.
    ///
    /// Facts about the capture are taken from the snapshot instead.
    init(answer: [UInt8], of snapshot: Snapshot) throws(SymbolicationError) {
        try self.init(answer: answer, threadLimit: snapshot.threadCount)
        method = snapshot.method
        methodReason = snapshot.methodReason
        frozenNanoseconds = UInt64(clamping: snapshot.timings.frozen.nanoseconds)
    }

    /// Decodes an answer that has at most the given number of threads.
    init(answer: [UInt8], threadLimit: Int) throws(SymbolicationError) {
        guard !answer.isEmpty else { throw SymbolicationError(.malformedAnswer, "printed nothing") }
        do {
            self = try JSONDecoder().decode(CapturedProcess.self, from: Data(answer))
        } catch {
            throw SymbolicationError(.malformedAnswer, "printed something other than a capture")
        }
        if let fault = fault(threadLimit: threadLimit) {
            throw SymbolicationError(.malformedAnswer, "printed a capture with \(fault)")
        }
    }

    private func fault(threadLimit: Int) -> String? {
        guard threads.count <= threadLimit else { return "\(threads.count) threads" }
        guard images.count <= Self.imageLimit else { return "\(images.count) images" }
        guard notes.count <= Self.noteLimit else { return "\(notes.count) notes" }
        guard images.allSatisfy({ $0.base <= .max - $0.size }) else { return "an image beyond the address space" }
        for thread in threads {
            guard thread.state.unicodeScalars.count == 1 else { return "state \"\(thread.state.prefix(8))\"" }
            if let fault = fault(in: thread.frames + thread.asynchronousFrames) { return fault }
        }
        return goroutines.flatMap(fault)
    }

    private func fault(in goroutines: CapturedGoroutines) -> String? {
        let count = goroutines.shown.reduce(goroutines.shown.count) { $0 + $1.others.count }
        guard count <= Self.goroutineLimit else { return "\(count) goroutines" }
        guard goroutines.count >= 0, goroutines.activeCount >= 0 else { return "a negative number of goroutines" }
        return goroutines.shown.lazy.compactMap { fault(in: $0.frames) }.first
    }

    private func fault(in frames: [Frame]) -> String? {
        for frame in frames {
            guard images.indices.contains(frame.imageIndex) else { return "image index \(frame.imageIndex)" }
            guard (frame.symbol == nil) == (frame.symbolLocation == nil) else { return "half a symbol" }
            guard frame.sourceLine ?? 1 > 0 else { return "line \(frame.sourceLine ?? 0)" }
        }
        return nil
    }
}
