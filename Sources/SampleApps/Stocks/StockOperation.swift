// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Work for one row of the list, that can be cancelled as long as it goes on.
///
/// An operation that has started does not stop because it is cancelled: `work` is to look now and then.
final class StockOperation: Operation, @unchecked Sendable {
    private let work: @Sendable (_ isCancelled: () -> Bool) -> Void

    init(_ work: @escaping @Sendable (_ isCancelled: () -> Bool) -> Void) {
        self.work = work
    }

    override func main() {
        guard !isCancelled else { return }
        // Not kept by the block itself: an operation that owns a block that owns the operation never goes away.
        work { isCancelled }
    }
}
