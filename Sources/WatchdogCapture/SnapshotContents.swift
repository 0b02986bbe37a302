// SPDX-License-Identifier: Apache-2.0

/// The parsed records of a ``Snapshot``.
public struct SnapshotContents: Sendable {
    /// What is known of the process as a whole.
    public var process: SnapshotProcess
    /// `/proc/PID/maps`, verbatim.
    public var mapsText: ArraySlice<UInt8>
    /// ``mapsText``, parsed; in ascending order of address, without overlaps.
    public var mappings: [SnapshotMapping]
    /// The main thread first, the others by thread id.
    public var threads: [SnapshotThread]
    /// The vDSO's ELF image, or nil.
    public var vdso: SnapshotMemory?
    /// What may be Swift's asynchronous contexts, by address.
    public var asynchronousContexts: [SnapshotAsynchronousContext]
    /// The mapped executables, by address.
    public var modules: [SnapshotModule]

    /// The mapping that contains `address`, or nil.
    public func mapping(at address: UInt64) -> SnapshotMapping? {
        var low = 0
        var high = mappings.count
        while low < high {
            let middle = low + (high - low) / 2
            if mappings[middle].end <= address {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < mappings.count, mappings[low].start <= address else { return nil }
        return mappings[low]
    }
}
