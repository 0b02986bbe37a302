// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture

/// A file from which the process runs code, and its mapped addresses.
struct Image: Equatable {
    var range: Range<UInt64>
    /// The path as in `/proc/PID/maps`.
    var path: String
    /// The inode; 0 for the vDSO.
    var inode: UInt64
    /// The offset of the first mapping in the file.
    var offset: UInt64

    /// Whether the kernel marks the file as unlinked or replaced; a file whose real name ends this way is treated the
    /// same.
    var isDeleted: Bool { path.hasSuffix(Image.deletedMark) }
    var isVDSO: Bool { inode == 0 }

    /// The last component of the path.
    var name: String {
        let path = isDeleted ? path.dropLast(Image.deletedMark.count) : path[...]
        return String(path.split(separator: "/").last ?? path)
    }

    private static let deletedMark = " (deleted)"
}

extension Image {
    private static let limit = 4096
    private static let vdso = "[vdso]"

    /// Every file with an executable mapping, in ascending order.
    ///
    /// An image consists of mappings of the same file with ascending offsets. They need not be adjacent, because gaps
    /// contain zeroed memory. A file that is mapped twice yields two images.
    static func images(of mappings: [SnapshotMapping]) -> [Image] {
        var images: [Image] = []
        var mappings = mappings.filter { $0.isFile || $0.path == vdso && $0.inode == 0 }[...]
        while let first = mappings.popFirst(), images.count < limit {
            var last = first
            var isExecutable = first.isExecutable
            while let next = mappings.first, next.continues(last) {
                last = next
                isExecutable = isExecutable || next.isExecutable
                mappings.removeFirst()
            }
            guard isExecutable else { continue }
            images.append(
                Image(range: first.start..<last.end, path: first.path, inode: first.inode, offset: first.offset)
            )
        }
        return images
    }
}

extension SnapshotMapping {
    fileprivate func continues(_ other: SnapshotMapping) -> Bool {
        guard inode == other.inode, deviceMajor == other.deviceMajor, deviceMinor == other.deviceMinor,
            path == other.path
        else { return false }
        return offset > other.offset || offset == other.offset && start == other.end
    }
}
