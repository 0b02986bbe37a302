// SPDX-License-Identifier: Apache-2.0

/// A file that the dynamic linker, or the program, mapped with code.
public struct LoadedObject: Equatable, Sendable {
    /// The path by which the kernel knows the file.
    public var path: String
    /// When its first segment was mapped.
    public var mapped: Duration
    /// How long the dynamic linker mapped it; nil if unknown.
    public var mapping: Duration?
    /// How long the dynamic linker relocated it; nil if unknown.
    public var relocation: Duration?
    /// The size of its mappings in bytes.
    public var size: Int
    /// Whether a sample of the main thread has a frame in it; nil without samples, and for the program's own files without
    /// one.
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
