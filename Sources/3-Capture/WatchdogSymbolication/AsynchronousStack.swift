// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture

/// Follows the chains of Swift's asynchronous contexts to the callers that await the code of a thread.
///
/// An AsyncContext begins with the address of its parent and the function that resumes the parent (swift/ABI/Task.h).
/// On x86-64 an asynchronous function keeps its own context in r14, which call frame information recovers like any
/// callee-saved register.
struct AsynchronousStack {
    private static let limit = 128

    private let contexts: [SnapshotAsynchronousContext]
    private let symbols: Symbols

    init(_ contexts: [SnapshotAsynchronousContext], symbols: Symbols) {
        self.contexts = contexts.sorted { $0.address < $1.address }
        self.symbols = symbols
    }

    /// The addresses at which the asynchronous callers of a thread's task will resume, nearest first; empty if it runs
    /// no task.
    func resumptions(of frames: [Unwinder.Frame]) -> [UInt64] {
        guard !contexts.isEmpty else { return [] }
        let start = frames.first { frame in
            guard let name = symbols.function(containing: frame.lookupAddress)?.name else { return false }
            return Demangler.isAsynchronous(name)
        }
        var next = start?.asyncContext
        var resumptions: [UInt64] = []
        var seen: Set<UInt64> = []
        while let address = next, address != 0, resumptions.count < AsynchronousStack.limit,
            seen.insert(address).inserted, let context = context(at: address)
        {
            resumptions.append(context.resume)
            next = context.parent
        }
        return resumptions
    }

    private func context(at address: UInt64) -> SnapshotAsynchronousContext? {
        let index = contexts.partitionPoint { $0.address >= address }
        guard index < contexts.count, contexts[index].address == address else { return nil }
        return contexts[index]
    }
}
