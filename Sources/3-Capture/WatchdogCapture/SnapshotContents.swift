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
    /// The goroutines of a Go program; nil for others.
    public var goroutines: SnapshotGoroutines?
    /// The methods that the threads of a Java virtual machine run; nil for other programs.
    public var java: SnapshotJava?
    /// The functions of JavaScript that V8 runs; nil for other programs.
    public var scripts: SnapshotScripts?

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

/// A mapped executable file.
public struct SnapshotModule: Sendable, Equatable {
    /// The first address of the file's mappings.
    public var start: UInt64
    /// Index into ``Snapshot/modules``; nil if the file could not be opened.
    public var descriptor: Int?
    /// The path as in `/proc/PID/maps`.
    public var path: String
}

/// One line of `/proc/PID/maps`.
public struct SnapshotMapping: Sendable, Equatable {
    /// The first address.
    public var start: UInt64
    /// The first address after the mapping.
    public var end: UInt64
    /// Whether it may be read.
    public var isReadable: Bool
    /// Whether it may be written.
    public var isWritable: Bool
    /// Whether it may be executed.
    public var isExecutable: Bool
    /// The offset of ``start`` in the file.
    public var offset: UInt64
    /// The major number of the file's device.
    public var deviceMajor: UInt32
    /// The minor number of the file's device.
    public var deviceMinor: UInt32
    /// The file's inode; 0 if no file is mapped.
    public var inode: UInt64
    /// The path as the kernel writes it, a name in brackets, or an empty string.
    public var path: String

    /// Whether a file is mapped.
    public var isFile: Bool { inode != 0 && path.hasPrefix("/") }
}

/// Two words of memory that may be the start of one of Swift's asynchronous contexts, because the second one points
/// into code.
public struct SnapshotAsynchronousContext: Sendable, Equatable {
    /// The address of the words.
    public var address: UInt64
    /// The address of the caller's context, or 0.
    public var parent: UInt64
    /// The address at which the caller resumes.
    public var resume: UInt64
}
