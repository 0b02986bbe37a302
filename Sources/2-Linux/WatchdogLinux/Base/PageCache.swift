// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The part of a file that is in memory.
///
/// These calls may wait for a disk: not for a loop.
public enum PageCache {
    /// What eviction left.
    public struct Rest: Hashable, Sendable {
        /// The file's size.
        public let size: Int64
        /// How much of it stayed in memory; nil if the kernel does not tell, because the file belongs to somebody else.
        public let resident: Int64?
    }

    /// Writes a file's changes to the disk and evicts it; needs only the right to read the file.
    ///
    /// Pages that some process maps stay. Only a second look tells what did.
    ///
    /// - Throws: ``LinuxError`` if it cannot be opened, is not a regular file, or cannot be written to the disk.
    public static func evict(_ path: String) throws(LinuxError) -> Rest {
        let file = try OwnedDescriptor.regularFile(at: ByteString(path))
        _ = try check("evict \(path)") { wd_page_cache_evict(file.number) }
        var status = stat()
        _ = try check("inspect \(path)") { fstat(file.number, &status) }
        let size = Int64(status.st_size)
        let resident = wd_page_cache_resident(file.number, size)
        return Rest(size: size, resident: resident < 0 ? nil : resident)
    }
}
