// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads an untrusted file that may shrink at any time.
///
/// Uses pread(2) and never a mapping: beyond the end of a file that has shrunk, a mapping raises SIGBUS.
enum FileBytes {
    /// Up to `count` bytes from an offset on; fewer if the file ends or cannot be read.
    static func read(_ descriptor: Int32, at offset: UInt64, count: Int) -> [UInt8] {
        guard let offset = off_t(exactly: offset), count > 0, offset <= .max - off_t(count) else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            while length < count {
                let read = pread(
                    descriptor, buffer.baseAddress?.advanced(by: length), count - length, offset + off_t(length))
                if read < 0 && errno == EINTR { continue }
                guard read > 0 else { break }
                length += read
            }
        }
    }

    /// Loads a structure; nil if the file ends too early.
    static func load<Value: BitwiseCopyable>(_ descriptor: Int32, at offset: UInt64) -> Value? {
        read(descriptor, at: offset, count: MemoryLayout<Value>.size).load(at: 0)
    }

    /// The header of an ELF file; nil for any other file.
    static func elfHeader(_ descriptor: Int32) -> Elf64_Ehdr? {
        let bytes = read(descriptor, at: 0, count: MemoryLayout<Elf64_Ehdr>.size)
        return bytes.isELF ? bytes.load(at: 0) : nil
    }
}

extension [UInt8] {
    /// Whether these are the first bytes of an ELF file.
    var isELF: Bool { starts(with: [0x7F, UInt8(ascii: "E"), UInt8(ascii: "L"), UInt8(ascii: "F")]) }

    /// Loads a structure; nil if it does not fit.
    func load<Value: BitwiseCopyable>(at offset: Int) -> Value? {
        guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return nil }
        return withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Value.self) }
    }
}
