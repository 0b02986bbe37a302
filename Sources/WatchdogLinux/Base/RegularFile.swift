// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

extension OwnedDescriptor {
    /// Opens a regular file for reading, through symbolic links.
    ///
    /// What is none is not even opened: opening a device or a FIFO may have effects.
    public static func regularFile(at path: ByteString) throws(LinuxError) -> OwnedDescriptor {
        try regularFile(path, AT_FDCWD, isBeneath: false)
    }

    /// Opens a regular file in a directory or below, and none that a link or `..` leads to.
    public static func regularFile(
        at name: ByteString, beneath directory: OwnedDescriptor
    ) throws(LinuxError) -> OwnedDescriptor {
        try regularFile(name, directory.number, isBeneath: true)
    }

    /// The same in a directory that is somebody else's descriptor.
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
}
