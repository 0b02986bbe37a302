// SPDX-License-Identifier: Apache-2.0

/// The memory that a child reads between clone and execve.
///
/// Freed with the arena, unless a child that neither got on nor died still uses it: see ``abandon()``.
final class SpawnArena {
    private var blocks: [UnsafeMutableRawPointer] = []

    deinit {
        for block in blocks { block.deallocate() }
    }

    /// Keeps the memory for ever.
    func abandon() {
        blocks = []
    }

    func array<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafeMutablePointer<Element> {
        let bytes = max(MemoryLayout<Element>.stride * elements.count, 1)
        let block = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: MemoryLayout<Element>.alignment)
        blocks.append(block)
        return block.initializeMemory(as: Element.self, from: elements, count: elements.count)
    }

    /// Copies of the strings, each ending with NUL, and a list of pointers to them that ends with NULL.
    func strings(_ strings: [ByteString]) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        var text: [UInt8] = []
        text.reserveCapacity(strings.reduce(0) { $0 + $1.bytes.count + 1 })
        var offsets: [Int] = []
        for string in strings {
            offsets.append(text.count)
            text += string.bytes
            text.append(0)
        }
        let base = UnsafeMutableRawPointer(array(text)).assumingMemoryBound(to: CChar.self)
        return array(offsets.map { Optional(base + $0) } + [nil])
    }

    func string(_ string: ByteString) -> UnsafeMutablePointer<CChar>? {
        strings([string])[0]
    }
}
