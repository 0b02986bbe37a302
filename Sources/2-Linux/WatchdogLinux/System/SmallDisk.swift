// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A disk in memory over a folder, which only this process and what it starts see, and which can be full.
///
/// Isolation: one thread at a time.
public final class SmallDisk {
    /// How much fits on it.
    public static let bytes: UInt64 = 32 << 20

    private let file: OwnedDescriptor

    /// Moves this process, and what it starts from now on, to a mount namespace of its own.
    ///
    /// Without `CAP_SYS_ADMIN`, the process also gets a user namespace, for which it must have only one thread.
    ///
    /// - Throws: ``LinuxError`` if the kernel or its settings allow neither.
    public static func enterPrivateMounts() throws(LinuxError) {
        _ = try check("create a mount namespace") { wd_enter_private_mounts() }
    }

    /// Mounts an empty disk over a folder, with the folder's mode and, as far as possible, owner.
    ///
    /// Call ``enterPrivateMounts()`` before: others would see the disk, too.
    public init(over folder: String) throws(LinuxError) {
        file = OwnedDescriptor(
            taking: try check("mount a disk over \(folder)") { wd_mount_small_disk(folder, Self.bytes) })
    }

    /// Takes all space that is left.
    public func fill() throws(LinuxError) {
        _ = try check("fill the disk") { wd_fill_disk(file.number) }
    }

    /// Gives that space back.
    public func clear() throws(LinuxError) {
        _ = try check("clear the disk") { ftruncate(file.number, 0) }
    }
}
