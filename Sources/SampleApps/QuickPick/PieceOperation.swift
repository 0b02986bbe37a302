// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A piece of work that can be queued, limited, ordered and cancelled.
///
/// The result is for dependent operations; it is nil if the piece failed or was canceled.
final class PieceOperation<Value: Sendable>: Operation, @unchecked Sendable {
    // SAFETY: written by `main`, read by operations that depend on this one; the queue orders the write before the
    // reads.
    private(set) var value: Value?
    private let work: @Sendable (_ isCancelled: @escaping () -> Bool) throws -> Value

    init(_ work: @escaping @Sendable (_ isCancelled: @escaping () -> Bool) throws -> Value) {
        self.work = work
    }

    override func main() {
        guard !isCancelled else { return }
        value = try? work { self.isCancelled }
    }

    func after(_ others: Operation...) -> Self {
        for other in others { addDependency(other) }
        return self
    }
}
