// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Work for one row of the list that can be canceled while it runs.
///
/// Canceling does not stop an operation that has started: `work` must check from time to time.
final class StockOperation: Operation, @unchecked Sendable {
    private let work: @Sendable (_ isCancelled: () -> Bool) -> Void

    init(_ work: @escaping @Sendable (_ isCancelled: () -> Bool) -> Void) {
        self.work = work
    }

    override func main() {
        guard !isCancelled else { return }
        // The operation owns this block, so a strong reference to the operation would be a cycle and leak it.
        work { isCancelled }
    }
}
