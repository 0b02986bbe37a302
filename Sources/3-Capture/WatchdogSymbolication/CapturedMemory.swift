// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture

/// The parts of the process's memory that are in the snapshot: stacks.
struct CapturedMemory {
    private let ranges: [SnapshotMemory]

    /// Creates the memory from ranges in any order; of two that overlap, either may be used.
    init(_ ranges: [SnapshotMemory]) {
        self.ranges = ranges.sorted { $0.address < $1.address }
    }

    func isSameRange(_ address: UInt64, as other: UInt64) -> Bool {
        guard let range = range(before: other) else { return false }
        let count = UInt64(range.bytes.count)
        // Subtract instead of adding: a register may contain any value, so an addition may overflow.
        return other - range.address < count && address >= range.address && address - range.address < count
    }

    /// The 8 bytes at `address`; nil unless the snapshot contains all of them.
    func word(at address: UInt64) -> UInt64? {
        range(before: address)?.word(at: address)
    }

    private func range(before address: UInt64) -> SnapshotMemory? {
        let next = ranges.partitionPoint { $0.address > address }
        return next > 0 ? ranges[next - 1] : nil
    }
}

/// The mapped files by address.
struct AddressSpace {
    /// In ascending order and without overlap.
    let mappings: [SnapshotMapping]

    func isExecutable(_ address: UInt64) -> Bool {
        let next = mappings.partitionPoint { $0.start > address }
        guard next > 0 else { return false }
        return address < mappings[next - 1].end && mappings[next - 1].isExecutable
    }
}
