// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads bounded amounts of `/proc`, whose contents other users control.
package enum Procfs {
    /// The contents of a file, at most `limit` bytes; nil if it cannot be read.
    package static func read(_ path: String, limit: Int = 64 << 10) -> [UInt8]? {
        guard let file = try? OwnedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK) else { return nil }
        return readAll(file.number, limit: limit)
    }

    /// A file of less than a page that the kernel generates as a whole for each read; nil if it cannot be read.
    ///
    /// A second read, for the end of the file, would have the kernel count everything again.
    ///
    /// - Parameter directory: what a relative path begins at.
    static func page(_ path: String, in directory: OwnedDescriptor? = nil) -> [UInt8]? {
        let flags = O_RDONLY | O_NONBLOCK
        let opened =
            try? directory.map { try OwnedDescriptor(opening: path, in: $0, flags: flags) }
            ?? OwnedDescriptor(opening: path, flags: flags)
        guard let file = opened else { return nil }
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            repeat {
                length = pread(file.number, buffer.baseAddress, 4096, 0)
            } while length < 0 && Errno.current == .interrupted
            count = max(length, 0)
        }
        return length < 0 ? nil : bytes
    }

    /// The contents of a file from its beginning, at most `limit` bytes; nil if it cannot be read.
    static func readAll(_ descriptor: Int32, limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let chunk = min(max(4096, bytes.count), limit - bytes.count)
            var length = 0
            let next = [UInt8](unsafeUninitializedCapacity: chunk) { buffer, count in
                length = pread(descriptor, buffer.baseAddress, chunk, off_t(bytes.count))
                count = max(length, 0)
            }
            bytes += next
            if length < 0 {
                if Errno.current == .interrupted { continue }
                return nil
            }
            if length == 0 { break }
        }
        return bytes
    }

    /// The contents of a file as text, at most `limit` bytes; nil if it cannot be read.
    package static func text(_ path: String, limit: Int = 64 << 10) -> String? {
        read(path, limit: limit).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first line of a file as text, without its newline; nil if it cannot be read.
    package static func line(_ path: String, limit: Int = 4096) -> String? {
        read(path, limit: limit).map { bytes in
            String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        }
    }

    /// Calls the closure with each line, without its newline, until it returns false or `limit` bytes have been read.
    ///
    /// Reads in small parts, because the kernel generates only what is read.
    ///
    /// - Returns: whether every line was seen.
    @discardableResult
    static func forEachLine(_ file: OwnedDescriptor, limit: Int, _ body: (ArraySlice<UInt8>) -> Bool) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var line: [UInt8] = []
        var total = 0
        while total < limit {
            let length = Glibc.read(file.number, &buffer, buffer.count)
            if length < 0, Errno.current == .interrupted { continue }
            guard length > 0 else { return length == 0 && (line.isEmpty || body(line[...])) }
            total += length
            line += buffer.prefix(length)
            var start = line.startIndex
            while let end = newline(in: line, from: start) {
                guard body(line[start..<end]) else { return false }
                start = end + 1
            }
            line.removeSubrange(..<start)
        }
        return false
    }

    /// Tables of the machine have megabytes, so the C library searches.
    private static func newline(in bytes: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBytes { memory in
            guard let base = memory.baseAddress,
                let found = memchr(base + start, Int32(UInt8(ascii: "\n")), memory.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    /// The thread IDs of a process in ascending order; empty if it is gone.
    package static func threads(of pid: Int32) -> [Int32] {
        numbers(in: "/proc/\(pid)/task")
    }

    /// The process IDs listed in `/proc`, in ascending order.
    static func processes() -> [Int32] {
        numbers(in: "/proc")
    }

    /// The children of a process; empty if it is gone, or on a kernel without CONFIG_PROC_CHILDREN.
    package static func children(of pid: Int32) -> [Int32] {
        threads(of: pid).flatMap { thread in
            (read("/proc/\(pid)/task/\(thread)/children", limit: 1 << 20) ?? [])
                .split(separator: UInt8(ascii: " "))
                .compactMap { Int32(decimal: $0) }
        }
    }

    /// Processes and their descendants, each of these once and behind its parent.
    ///
    /// - Parameter limit: how many at the most.
    package static func withDescendants(_ processes: some Sequence<Int32>, limit: Int = .max) -> [Int32] {
        var found = Array(processes)
        var known = Set(found)
        var next = 0
        while next < found.count, found.count < limit {
            found += children(of: found[next]).filter { known.insert($0).inserted }
            next += 1
        }
        return Array(found.prefix(limit))
    }

    /// The names in a folder that are numbers, in ascending order; empty if it cannot be read.
    package static func numbers(in path: String) -> [Int32] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var numbers: [Int32] = []
        while let entry = readdir(directory) {
            let number = withUnsafeBytes(of: &entry.pointee.d_name) { name in
                Int32(decimal: name.prefix { $0 != 0 })
            }
            if let number { numbers.append(number) }
        }
        return numbers.sorted()
    }
}

extension FixedWidthInteger {
    /// Parses an unsigned decimal number without anything around it; nil for anything else or on overflow.
    init?(decimal digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var value: Self = 0
        for digit in digits {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Self(digit - UInt8(ascii: "0")))
            guard !overflow, !carry else { return nil }
            value = sum
        }
        self = value
    }
}
