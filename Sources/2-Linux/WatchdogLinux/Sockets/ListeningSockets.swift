// SPDX-License-Identifier: Apache-2.0

import CLinux

/// A way to ask which sockets listen, cheap enough to be repeated every millisecond: sock_diag(7).
///
/// Isolation: belongs to one thread.
public final class ListeningSockets {
    private let netlink: OwnedDescriptor
    private var buffer = [UInt32](repeating: 0, count: 16 << 10)

    /// Prepares to ask about the network namespace of the calling thread.
    public init() throws(LinuxError) {
        netlink = OwnedDescriptor(taking: try check("open a netlink socket") { wd_listening_open() })
    }

    /// The inodes of all listening TCP and Unix sockets, at most 16384 of them.
    public func inodes() throws(LinuxError) -> Set<UInt32> {
        let count = try check("list listening sockets") {
            wd_listening_inodes(netlink.number, &buffer, buffer.count)
        }
        return Set(buffer.prefix(count))
    }

    /// Whether a process has one of the sockets open; false if it may not be read.
    public static func process(_ pid: Int32, hasOneOf inodes: Set<UInt32>) -> Bool {
        DescriptorTable.sockets(of: pid).contains { inodes.contains($0) }
    }
}
