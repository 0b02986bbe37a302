// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogVerdict

/// The generated code of a process, which a JIT compiler wrote to memory.
final class GeneratedCode {
    private let contents: SnapshotContents
    private let descriptor: Int32?
    /// Read on first use, because in many processes no stack has generated code.
    private lazy var map = readMap()

    /// - Parameter modules: Descriptors, indexed by the snapshot's module numbers.
    init(_ contents: SnapshotContents, modules: [Int32]) {
        self.contents = contents
        descriptor = contents.perfMap.flatMap { modules.indices.contains($0) ? modules[$0] : nil }
    }

    /// The function at an address outside of all images, and where it starts; nil if it is unknown.
    func function(at address: UInt64) -> (start: UInt64, function: GeneratedFunction)? {
        map?.function(at: address)
    }

    /// The report's note about missing names of these functions; nil if there is no problem.
    var note: String? {
        guard let map, map.isCut else { return nil }
        return "the process's perf map is large, and only its newest part was read: older functions have no names"
    }

    /// Whether a mapped file has generated code: JIT compilers that map it twice, once writable, use a memfd.
    static func isGenerated(_ image: Image, _ file: ImageFile?) -> Bool {
        guard isMemory(image.path) else { return false }
        return file?.bytes(at: 0, count: 4) != [0x7F, UInt8(ascii: "E"), UInt8(ascii: "L"), UInt8(ascii: "F")]
    }

    /// Whether the path is the kernel's name for anonymous shared memory.
    private static func isMemory(_ path: String) -> Bool {
        path.hasPrefix("/memfd:") || path.hasPrefix("/dev/zero (deleted)")
    }

    private func readMap() -> PerfMap? {
        guard let descriptor, let file = ImageFile(descriptor: descriptor), let size = ImageFile.size(of: descriptor)
        else { return nil }
        let start = max(0, size - PerfMap.byteLimit)
        guard let bytes = file.bytes(at: UInt64(start), count: size - start) else { return nil }
        let ranges = contents.mappings.filter { mapping in
            mapping.isExecutable && (!mapping.isFile || Self.isMemory(mapping.path))
        }
        return PerfMap(
            bytes, isEnd: start > 0, program: String(contents.process.executable.split(separator: "/").last ?? ""),
            of: ranges.map { $0.start..<$0.end })
    }
}
