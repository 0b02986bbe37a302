// SPDX-License-Identifier: Apache-2.0

/// The memory of a process, of which any part may be unreadable.
public struct MemoryReader {
    private let read: (_ address: UInt64, _ count: Int) -> [UInt8]?

    /// - Parameter read: returns exactly the bytes at an address, or nil.
    public init(_ read: @escaping (_ address: UInt64, _ count: Int) -> [UInt8]?) {
        self.read = read
    }

    func window(_ address: UInt64, _ count: Int) -> ByteWindow? {
        guard count > 0, count <= 1 << 20, address < 1 << 47 else { return nil }
        return read(address, count).flatMap { $0.count == count ? ByteWindow($0) : nil }
    }
}

/// The program that the kernel has just executed, read from the process's memory, so that no path chosen by the program
/// is followed.
///
/// Everything is bounded, because the program's memory is untrusted.
public struct ProgramImage: Equatable, Sendable {
    /// The addresses of breakpoints.
    public var boundaries: [LaunchBoundary: UInt64] = [:]
    /// Whether it has a dynamic linker.
    public var kind: LaunchedProgram.Kind = .unknown
    /// The dynamic linker's path.
    public var interpreter: String?
    /// "glibc" or "musl".
    public var runtime: String?
    /// The build ID in hexadecimal digits.
    public var buildID: String?

    /// getauxval(3).
    private enum Auxiliary {
        static let programHeaders: UInt64 = 3
        static let programHeaderSize: UInt64 = 4
        static let programHeaderCount: UInt64 = 5
        static let base: UInt64 = 7
        static let entry: UInt64 = 9
    }

    /// Reads a program that has not executed its first instruction yet.
    ///
    /// - Parameters:
    ///   - auxiliary: `/proc/PID/auxv`.
    ///   - memory: the process's memory.
    public init(auxiliary: [UInt8], memory: MemoryReader) {
        let values = Self.values(in: auxiliary)
        let base = values[Auxiliary.base] ?? 0
        readStart(values, memory)
        guard kind != .unknown else { return }
        if values[Auxiliary.programHeaderSize] == 56 {
            readHeaders(
                at: values[Auxiliary.programHeaders] ?? 0,
                count: Int(clamping: values[Auxiliary.programHeaderCount] ?? 0),
                memory)
        }
        guard base != 0, let linker = LoadedELF(at: base, memory: memory) else { return }
        boundaries[.linker] = linker.entry
        boundaries[.debugState] = linker.symbol("_dl_debug_state")
    }

    /// Reads only where a program starts, which is where its entry and `main` are: each of the other reads would take
    /// time from a launch.
    init(startIn auxiliary: [UInt8], memory: MemoryReader) { readStart(Self.values(in: auxiliary), memory) }

    private static func values(in auxiliary: [UInt8]) -> [UInt64: UInt64] {
        let vector = ByteWindow(auxiliary)
        var values: [UInt64: UInt64] = [:]
        for index in 0..<min(vector.count / 16, 64) {
            guard let key: UInt64 = vector.integer(at: index * 16), key != 0 else { break }
            values[key] = values[key] ?? vector.integer(at: index * 16 + 8)
        }
        return values
    }

    private mutating func readStart(_ values: [UInt64: UInt64], _ memory: MemoryReader) {
        guard let entry = values[Auxiliary.entry], entry != 0 else { return }
        kind = values[Auxiliary.base] ?? 0 == 0 ? .static : .dynamic
        boundaries[.entry] = entry
        boundaries[.main] = StartCode.main(entry: entry, memory: memory)
    }

    private mutating func readHeaders(at address: UInt64, count: Int, _ memory: MemoryReader) {
        let headers = ProgramHeader.all(at: address, count: count, memory)
        guard let own = headers.first(where: { $0.kind == ProgramHeader.own }) else {
            // A program without PT_PHDR is loaded at its link address.
            return readNamed(headers, bias: 0, memory)
        }
        readNamed(headers, bias: address &- own.address, memory)
    }

    private mutating func readNamed(_ headers: [ProgramHeader], bias: UInt64, _ memory: MemoryReader) {
        for header in headers {
            let address = bias &+ header.address
            switch header.kind {
            case ProgramHeader.interpreter where interpreter == nil:
                interpreter = memory.window(address, Int(clamping: min(header.length, 4096)))?.text(at: 0)
                runtime = interpreter.flatMap { path in
                    path.contains("ld-musl") ? "musl" : path.contains("ld-linux") ? "glibc" : nil
                }
            case ProgramHeader.note where buildID == nil:
                buildID = memory.window(address, Int(clamping: min(header.length, 4096))).flatMap(Self.buildID(in:))
            default: break
            }
        }
    }

    /// The note of type 3 and name "GNU": elf(5), "Notes".
    private static func buildID(in notes: ByteWindow) -> String? {
        var rest = notes
        for _ in 0..<64 {
            guard let nameSize: UInt32 = rest.integer(at: 0), let size: UInt32 = rest.integer(at: 4),
                let type: UInt32 = rest.integer(at: 8)
            else { return nil }
            let content = 12 + (Int(nameSize) + 3) & ~3
            if type == 3, rest.text(at: 12, limit: 4) == "GNU", (1...64).contains(size) {
                let bytes = (0..<Int(size)).compactMap { rest.integer(at: content + $0, as: UInt8.self) }
                guard bytes.count == Int(size) else { return nil }
                return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            }
            rest = rest.dropFirst(content + (Int(size) + 3) & ~3)
        }
        return nil
    }
}

/// elf(5), Elf64_Phdr.
struct ProgramHeader {
    static let load: UInt32 = 1
    static let dynamic: UInt32 = 2
    static let interpreter: UInt32 = 3
    static let note: UInt32 = 4
    static let own: UInt32 = 6

    let kind: UInt32
    /// The offset of the segment in the file.
    let offset: UInt64
    let address: UInt64
    let length: UInt64

    static func all(at address: UInt64, count: Int, _ memory: MemoryReader) -> [ProgramHeader] {
        guard (1...128).contains(count), let table = memory.window(address, count * 56) else { return [] }
        return (0..<count).compactMap { index in
            guard let kind: UInt32 = table.integer(at: index * 56),
                let offset: UInt64 = table.integer(at: index * 56 + 8),
                let address: UInt64 = table.integer(at: index * 56 + 16),
                let length: UInt64 = table.integer(at: index * 56 + 40)
            else { return nil }
            return ProgramHeader(kind: kind, offset: offset, address: address, length: length)
        }
    }
}
