// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture

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
