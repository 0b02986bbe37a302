// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture

/// The parts of the process's memory that the snapshot holds: stacks.
struct CapturedMemory {
    private let ranges: [SnapshotMemory]

    /// Creates the memory from ranges in any order; where two overlap, either may answer.
    init(_ ranges: [SnapshotMemory]) {
        self.ranges = ranges.sorted { $0.address < $1.address }
    }

    /// True when `address` lies in the range that holds `other`.
    func isSameRange(_ address: UInt64, as other: UInt64) -> Bool {
        guard let range = range(before: other) else { return false }
        let count = UInt64(range.bytes.count)
        // By subtraction: an address out of a register may be anything, and adding to it may overflow.
        return other - range.address < count && address >= range.address && address - range.address < count
    }

    /// The 8 bytes at `address`, or nil where the snapshot does not hold all of them.
    func word(at address: UInt64) -> UInt64? {
        range(before: address)?.word(at: address)
    }

    private func range(before address: UInt64) -> SnapshotMemory? {
        let next = ranges.partitionPoint { $0.address > address }
        return next > 0 ? ranges[next - 1] : nil
    }
}
