// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture

/// Which files are mapped where.
struct AddressSpace {
    /// In ascending order and without overlap.
    let mappings: [SnapshotMapping]

    func isExecutable(_ address: UInt64) -> Bool {
        let next = mappings.partitionPoint { $0.start > address }
        guard next > 0 else { return false }
        return address < mappings[next - 1].end && mappings[next - 1].isExecutable
    }
}

extension RandomAccessCollection {
    /// The first index for which `isBeyond` holds; it must hold for all later elements.
    func partitionPoint(_ isBeyond: (Element) -> Bool) -> Index {
        var low = startIndex
        var count = self.count
        while count > 0 {
            let half = count / 2
            let middle = index(low, offsetBy: half)
            if isBeyond(self[middle]) {
                count = half
            } else {
                low = index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}
