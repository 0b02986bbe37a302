// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

extension OwnedDescriptor {
    /// Opens a regular file for reading, following symbolic links.
    ///
    /// Anything else is not even opened: opening a device or a FIFO may have side effects.
    public static func regularFile(at path: ByteString) throws(LinuxError) -> OwnedDescriptor {
        try regularFile(path, AT_FDCWD, isBeneath: false)
    }

    /// Opens a regular file in a directory or below it, but not through a link or `..`.
    public static func regularFile(
        at name: ByteString, beneath directory: OwnedDescriptor
    ) throws(LinuxError) -> OwnedDescriptor {
        try regularFile(name, directory.number, isBeneath: true)
    }

    /// The same for a directory whose descriptor somebody else owns.
    static func regularFile(at name: ByteString, beneath directory: Int32) throws(LinuxError) -> OwnedDescriptor {
        try regularFile(name, directory, isBeneath: true)
    }

    private static func regularFile(
        _ name: ByteString, _ directory: Int32, isBeneath: Bool
    ) throws(LinuxError) -> OwnedDescriptor {
        let number = try check("open \(name)") {
            (name.bytes + [0]).withUnsafeBytes { bytes in
                wd_open_regular(
                    directory, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), isBeneath ? 1 : 0)
            }
        }
        return OwnedDescriptor(taking: number)
    }

    /// The file's contents from its beginning, at most `limit` bytes.
    ///
    /// - Throws: ``LinuxError`` if it cannot be read.
    public func contents(limit: Int) throws(LinuxError) -> [UInt8] {
        guard let bytes = Procfs.readAll(number, limit: limit) else { throw LinuxError("read the file", .current) }
        return bytes
    }
}
