// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

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

extension ListeningSockets {
    /// The most that is read of a table of sockets.
    private static let tableLimit = 4 << 20

    /// Where a process listens: `127.0.0.1:8080`, `[::1]:8080`, a path, or `@NAME`; empty if it may not be read.
    ///
    /// It reads the tables of the process's network namespace, which takes milliseconds where many sockets listen, or there are
    /// many Unix sockets.
    public static func addresses(of pid: Int32) -> [String] {
        let inodes = Set(DescriptorTable.sockets(of: pid).map { UInt64($0) })
        guard !inodes.isEmpty else { return [] }
        var addresses: [String] = []
        for table in ["tcp", "tcp6"] {
            forEachLine(of: table, pid) { line in
                guard let socket = InternetSocket(parsing: line) else { return true }
                // TCP_LISTEN: include/net/tcp_states.h. These come first: tcp_seq_start, net/ipv4/tcp_ipv4.c.
                guard socket.state == 10 else { return false }
                if inodes.contains(socket.inode) { addresses.append(socket.local) }
                return true
            }
        }
        forEachLine(of: "unix", pid) { line in
            if let (inode, name) = listeningUnixSocket(line), inodes.contains(inode) { addresses.append(name) }
            return true
        }
        return addresses
    }

    private static func forEachLine(of table: String, _ pid: Int32, _ body: (ArraySlice<UInt8>) -> Bool) {
        guard let file = try? OwnedDescriptor(opening: "/proc/\(pid)/net/\(table)", flags: O_RDONLY) else { return }
        Procfs.forEachLine(file, limit: tableLimit, body)
    }

    /// A line of `/proc/PID/net/unix`: proc_pid_net(5).
    static func listeningUnixSocket(_ line: ArraySlice<UInt8>) -> (inode: UInt64, name: String)? {
        let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 7)
        // __SO_ACCEPTCON: include/linux/net.h. A socket without a name cannot be connected to.
        guard fields.count == 8, let flags = UInt32(String(decoding: fields[3], as: UTF8.self), radix: 16),
            flags & 0x10000 != 0, let inode = UInt64(decimal: fields[6]),
            let name = String(validating: fields[7], as: UTF8.self)
        else { return nil }
        return (inode, name)
    }
}
