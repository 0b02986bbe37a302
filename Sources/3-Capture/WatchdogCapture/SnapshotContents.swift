// SPDX-License-Identifier: Apache-2.0

/// The parsed records of a ``Snapshot``.
public struct SnapshotContents: Sendable {
    /// The facts about the process as a whole.
    public var process: SnapshotProcess
    /// `/proc/PID/maps`, verbatim.
    public var mapsText: ArraySlice<UInt8>
    /// ``mapsText``, parsed; in ascending order, without overlaps.
    public var mappings: [SnapshotMapping]
    /// The main thread first, the others by thread ID.
    public var threads: [SnapshotThread]
    /// The vDSO's ELF image; nil if there is none.
    public var vdso: SnapshotMemory?
    /// Possible asynchronous contexts of Swift, by address.
    public var asynchronousContexts: [SnapshotAsynchronousContext]
    /// The mapped executables, by address.
    public var modules: [SnapshotModule]
    /// Index into ``Snapshot/modules`` of the file in which the process's JIT compiler lists its functions; nil if
    /// there is none.
    public var perfMap: Int?
    /// The CPython interpreter of the process; nil if there is none.
    public var interpreter: SnapshotInterpreter?

    /// The mapping that contains `address`; nil if none does.
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
