// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The file that a launch of a program prints to, and the position at which the launch began.
///
/// The file is held open, so it stays the same one if log rotation renames it.
public struct LogFile: Sendable {
    private let file: OwnedDescriptor
    private let start: Int64

    /// The file that a descriptor of this process writes to; create it before the launch.
    ///
    /// Nil unless it is a readable regular file to which writes append.
    public init?(writtenBy descriptor: Int32) {
        guard let size = Self.size(ofRegularFile: descriptor) else { return nil }
        let grows = fcntl(descriptor, F_GETFL) & O_APPEND != 0 || lseek(descriptor, 0, SEEK_CUR) == size
        // Opening the file anew creates a separate file description, which leaves the writers' position alone.
        guard grows, let file = try? OwnedDescriptor(opening: "/proc/self/fd/\(descriptor)", flags: O_RDONLY)
        else { return nil }
        self.file = file
        start = size
    }

    /// A file at a path, from its beginning.
    ///
    /// Nil unless it is a readable regular file and not a symbolic link.
    public init?(path: String) {
        guard
            let file = try? OwnedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY),
            Self.size(ofRegularFile: file.number) != nil
        else { return nil }
        self.file = file
        start = 0
    }

    private static func size(ofRegularFile descriptor: Int32) -> Int64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// The last lines, oldest first, all of them complete unless a single one is too long.
    func tail(_ limit: LogLimit) -> [PrintedLine] {
        guard let size = Self.size(ofRegularFile: file.number) else { return [] }
        // A file that is shorter than at launch was truncated in the meantime.
        let first = size < start ? 0 : start
        let from = max(first, size - Int64(limit.bytes))
        var bytes = read(from..<size)[...]
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if from > first {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
                return bytes.isEmpty ? [] : [Self.end(ofLine: bytes, limit)]
            }
            // The first line is incomplete.
            bytes = bytes[(end + 1)...]
        }
        guard !bytes.isEmpty else { return [] }
        return bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).suffix(limit.lines)
            .map { PrintedLine(text: String(decoding: $0.prefix(limit.lineBytes), as: UTF8.self)) }
    }

    /// The end of a line that exceeds the limit by itself.
    private static func end(ofLine bytes: ArraySlice<UInt8>, _ limit: LogLimit) -> PrintedLine {
        let mark = "…"
        let rest = bytes.suffix(max(0, limit.lineBytes - mark.utf8.count)).drop(while: UTF8.isContinuation)
        return PrintedLine(text: mark + String(decoding: rest, as: UTF8.self))
    }

    private func read(_ range: Range<Int64>) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var count = 0
        while count < bytes.count {
            let offset = off_t(range.lowerBound) + count
            let result = bytes.withUnsafeMutableBytes { buffer in
                pread(file.number, buffer.baseAddress.map { $0 + count }, buffer.count - count, offset)
            }
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { break }
            count += result
        }
        return Array(bytes.prefix(count))
    }
}
