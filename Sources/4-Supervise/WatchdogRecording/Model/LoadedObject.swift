// SPDX-License-Identifier: Apache-2.0

/// A file that the dynamic linker, or the program, mapped with code.
public struct LoadedObject: Equatable, Sendable {
    /// The path of the file, from the kernel.
    public var path: String
    /// The time at which its first segment was mapped.
    public var mapped: Duration
    /// The dynamic linker's time for mapping it; nil if unknown.
    public var mapping: Duration?
    /// The dynamic linker's time for relocating it; nil if unknown.
    public var relocation: Duration?
    /// The size of its mappings in bytes.
    public var size: Int
    /// Whether a sample of the main thread has a frame in it; nil without samples, and for the program's own files
    /// without a frame.
    public var isUsed: Bool?
    /// Whether the program loaded it itself, after `main` had begun.
    public var isLate: Bool

    /// Creates an object.
    public init(
        path: String, mapped: Duration, mapping: Duration? = nil, relocation: Duration? = nil, size: Int = 0,
        isUsed: Bool? = nil, isLate: Bool = false
    ) {
        self.path = path
        self.mapped = mapped
        self.mapping = mapping
        self.relocation = relocation
        self.size = size
        self.isUsed = isUsed
        self.isLate = isLate
    }
}
