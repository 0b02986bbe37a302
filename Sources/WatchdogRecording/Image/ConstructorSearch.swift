// SPDX-License-Identifier: Apache-2.0

/// A part of a file in the memory of a process.
public struct MappedSegment: Hashable, Sendable {
    /// Its addresses.
    public var range: Range<UInt64>
    /// Where in the file it begins.
    public var offset: UInt64
    /// The file's inode number.
    public var inode: UInt64
    /// The path by which the kernel knows the file.
    public var path: String
    /// Whether it holds code.
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

/// Finds the constructors of a program that is about to run them: mapped and relocated.
///
/// Everything is bounded: the memory belongs to a program that may be hostile.
public struct ConstructorSearch: Equatable, Sendable {
    /// Where a probe goes.
    public struct Place: Hashable, Sendable {
        /// The segment with the constructor's code.
        public var segment: MappedSegment
        /// Where the constructor is in the file, in bytes.
        public var fileOffset: UInt64
        /// Its address minus the load address of its file.
        public var offset: UInt64
    }

    /// How many constructors are found: a probe takes up to half a millisecond, and its removal 80 ms.
    public static let limit = 1024
    /// The most files that are searched.
    private static let fileLimit = 4096

    /// The constructors, each once, without those that compilers add and that do nothing.
    public private(set) var places: [Place] = []
    /// Files whose constructors are unknown, and why.
    public private(set) var gaps: [Gap] = []

    /// A file whose constructors are unknown, at least some of them.
    public struct Gap: Hashable, Sendable {
        /// The file.
        public var path: String
        /// Why, as a clause: "its headers are not in memory".
        public var reason: String
    }

    private var known: Set<Place> = []
    /// How many slots are read in all files: many are those of compilers, or hold what is no code.
    private static let slotLimit = 4 * limit
    private var slotCount = 0

    /// Searches the files of a process.
    ///
    /// - Parameters:
    ///   - segments: what it has mapped of files, in ascending order.
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
