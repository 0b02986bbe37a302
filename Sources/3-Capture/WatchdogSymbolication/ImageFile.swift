// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// The bytes that an image was mapped from: a regular file, or the copy of the vDSO in the snapshot.
///
/// Reads with pread(2), never through a mapping: beyond the end of a file that has shrunk, a mapping raises SIGBUS.
final class ImageFile {
    enum Source {
        case descriptor(Int32)
        case bytes(ArraySlice<UInt8>)
    }

    private static let pageSize: UInt64 = 4096
    private static let pageLimit = 4096

    let source: Source
    /// The file, if this object opened it.
    private let opened: OwnedDescriptor?
    private var pages: [UInt64: [UInt8]] = [:]

    /// Uses the copy of the vDSO.
    init(bytes: ArraySlice<UInt8>) {
        source = .bytes(bytes)
        opened = nil
    }

    /// Uses a file whose descriptor the caller continues to own; nil unless it is a regular file.
    init?(descriptor: Int32) {
        guard ImageFile.inode(of: descriptor) != nil else { return nil }
        source = .descriptor(descriptor)
        opened = nil
    }

    /// Opens the file at the path of an image; nil unless it is still the one that was mapped.
    init?(pathOf image: Image) {
        guard !image.isDeleted, let file = try? OwnedDescriptor.regularFile(at: ByteString(image.path)),
            ImageFile.inode(of: file.number) == image.inode
        else { return nil }
        source = .descriptor(file.number)
        opened = file
    }

    /// The inode number of a regular file.
    private static func inode(of descriptor: Int32) -> UInt64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return UInt64(status.st_ino)
    }

    /// The size of a file in bytes.
    static func size(of descriptor: Int32) -> Int? {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_size >= 0 ? Int(status.st_size) : nil
    }

    /// `count` bytes at `offset`; nil if the file ends before.
    func bytes(at offset: UInt64, count: Int) -> [UInt8]? {
        guard count >= 0, offset <= UInt64(Int64.max) - UInt64(count) else { return nil }
        switch source {
        case .bytes(let bytes):
            guard offset <= UInt64(bytes.count), bytes.count - Int(offset) >= count else { return nil }
            return Array(bytes.dropFirst(Int(offset)).prefix(count))
        case .descriptor(let descriptor):
            let start = offset % ImageFile.pageSize
            guard start + UInt64(count) <= ImageFile.pageSize else {
                return ImageFile.read(descriptor, at: offset, count: count)
            }
            let page = page(offset / ImageFile.pageSize, of: descriptor)
            guard page.count >= Int(start) + count else { return nil }
            return Array(page[Int(start)..<Int(start) + count])
        }
    }

    /// Reads whole pages, because code is read in many small pieces close together.
    private func page(_ number: UInt64, of descriptor: Int32) -> [UInt8] {
        if let known = pages[number] { return known }
        let size = Int(ImageFile.pageSize)
        let page = ImageFile.read(descriptor, at: number * ImageFile.pageSize, count: size, orFewer: true) ?? []
        if pages.count >= ImageFile.pageLimit { pages.removeAll() }
        pages[number] = page
        return page
    }

    private static func read(_ descriptor: Int32, at offset: UInt64, count: Int, orFewer: Bool = false) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count, let base = buffer.baseAddress {
                let got = pread(descriptor, base + filled, count - filled, off_t(offset) + off_t(filled))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { return }
                filled += got
            }
        }
        return bytes.count == count || orFewer ? bytes : nil
    }
}
