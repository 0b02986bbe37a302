// SPDX-License-Identifier: Apache-2.0

/// A part of a file in the memory of a process.
public struct MappedSegment: Hashable, Sendable {
    /// Its addresses.
    public var range: Range<UInt64>
    /// The offset of the segment in the file.
    public var offset: UInt64
    /// The file's inode number.
    public var inode: UInt64
    /// The path of the file, from the kernel.
    public var path: String
    /// Whether it contains code.
    public var isExecutable: Bool

    /// Creates a segment.
    public init(range: Range<UInt64>, offset: UInt64, inode: UInt64, path: String, isExecutable: Bool) {
        self.range = range
        self.offset = offset
        self.inode = inode
        self.path = path
        self.isExecutable = isExecutable
    }
}

/// Finds the constructors of a mapped and relocated program before it runs them.
///
/// Everything is bounded, because the program's memory is untrusted.
public struct ConstructorSearch: Equatable, Sendable {
    /// The place of a probe.
    public struct Place: Hashable, Sendable {
        /// The segment with the constructor's code.
        public var segment: MappedSegment
        /// The offset of the constructor in the file, in bytes.
        public var fileOffset: UInt64
        /// Its address minus the load address of its file.
        public var offset: UInt64
    }

    /// The maximum number of constructors: a probe takes up to half a millisecond, and its removal 80 ms.
    public static let limit = 1024
    /// The maximum number of files to search.
    private static let fileLimit = 4096

    /// The constructors, without duplicates, and without the empty ones that compilers add.
    public private(set) var places: [Place] = []
    /// Files with unknown constructors, with the reasons.
    public private(set) var gaps: [Gap] = []

    /// A file with at least one unknown constructor.
    public struct Gap: Hashable, Sendable {
        /// The path of the file.
        public var path: String
        /// The reason, as a clause: "its headers are not in memory".
        public var reason: String
    }

    private var known: Set<Place> = []
    /// The maximum number of slots to read in all files: many are compilers' own, or do not point to code.
    private static let slotLimit = 4 * limit
    private var slotCount = 0

    /// Searches the files of a process.
    ///
    /// - Parameters:
    ///   - segments: its file mappings, in ascending order.
    ///   - memory: its memory.
    public init(_ segments: [MappedSegment], memory: MemoryReader) {
        let code = segments.filter(\.isExecutable)
        var bases: [String: UInt64] = [:]
        for segment in segments where segment.offset == 0 {
            bases[segment.path] = bases[segment.path] ?? segment.range.lowerBound
        }
        var files: Set<String> = []
        for path in code.map(\.path) where files.count < Self.fileLimit && files.insert(path).inserted {
            do throws(ConstructorFault) {
                try search(path, at: bases[path], code, bases, memory)
            } catch {
                gaps.append(Gap(path: path, reason: error.description))
            }
        }
    }

    private mutating func search(
        _ path: String, at base: UInt64?, _ code: [MappedSegment], _ bases: [String: UInt64], _ memory: MemoryReader
    ) throws(ConstructorFault) {
        guard let base else { throw ConstructorFault(description: "its headers are not in memory") }
        guard let file = LoadedELF(at: base, memory: memory) else {
            throw ConstructorFault(description: "its headers are not those of a 64-bit ELF file")
        }
        var strays = 0
        let addresses = try file.constructors(limit: min(Self.limit, Self.slotLimit - slotCount))
        slotCount += addresses.count
        for address in addresses where !EmptyConstructor.isAt(address, memory: memory) {
            guard places.count < Self.limit else {
                throw ConstructorFault(description: "it has more than can be timed")
            }
            guard let segment = code.first(where: { $0.range.contains(address) }), let start = bases[segment.path],
                address >= start
            else {
                strays += 1
                continue
            }
            let place = Place(
                segment: segment, fileOffset: segment.offset &+ (address - segment.range.lowerBound),
                offset: address - start)
            if known.insert(place).inserted { places.append(place) }
        }
        guard strays == 0 else {
            throw ConstructorFault(description: "\(strays) of them \(strays == 1 ? "is" : "are") in no file")
        }
    }
}
