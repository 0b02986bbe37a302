// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogBase

/// A socket that listens on an address, found without connecting to it.
public struct ListeningSocket: Hashable, Sendable {
    /// The socket's inode number, which identifies it among the descriptors of processes.
    public let inode: UInt64

    /// Creates a socket from its inode number.
    public init(inode: UInt64) {
        self.inode = inode
    }

    /// Finds a listening socket in the network namespace of a process; nil if nothing listens there.
    ///
    /// A socket bound to all addresses listens on each of them. A Unix socket is found by its file: it may have been
    /// bound by a relative path, through links, or under another name and renamed. ``isHeld(by:)`` says which process
    /// holds it.
    ///
    /// May wait for file systems, and takes milliseconds on a machine with many sockets: not for the loop.
    public static func find(_ address: NetworkAddress, inNamespaceOf pid: Int32) -> ListeningSocket? {
        switch address {
        case .tcp:
            find(address, in: "/proc/\(pid)/net/tcp") ?? find(address, in: "/proc/\(pid)/net/tcp6")
        case .unix(let path): find(address, path, pid)
        case .abstract(let name): find(address, name, pid)
        }
    }

    private static func find(_ address: NetworkAddress, _ name: String, _ pid: Int32) -> ListeningSocket? {
        var place = wd_listening_place()
        if case .unix = address {
            switch wd_listening_place_at(pid, name, &place) {
            case WD_PLACE_SOCKET: break
            case WD_PLACE_EMPTY: return nil
            default: return find(address, in: "/proc/\(pid)/net/unix")
            }
        }
        var inode: UInt32 = 0
        let isOwn = sharesNetwork(with: pid)
        if isOwn != false {
            let isListed = name.withCString { bytes in
                if case .abstract = address { (place.name, place.name_length) = (bytes, name.utf8.count) }
                return wd_listening_find(&place, &inode) == 0
            }
            if inode != 0 { return ListeningSocket(inode: UInt64(inode)) }
            if isListed, isOwn == true { return nil }
        }
        // sock_diag(7) knows only this process's namespace, and may be missing or forbidden.
        return find(address, in: "/proc/\(pid)/net/unix")
    }

    /// Whether a process is in this network namespace; nil if that cannot be read.
    private static func sharesNetwork(with pid: Int32) -> Bool? {
        var (own, other) = (stat(), stat())
        guard stat("/proc/thread-self/ns/net", &own) == 0, stat("/proc/\(pid)/ns/net", &other) == 0 else { return nil }
        return own.st_ino == other.st_ino && own.st_dev == other.st_dev
    }

    /// Whether one of the process's descriptors is this socket; also false if they cannot be read.
    public func isHeld(by pid: Int32) -> Bool {
        guard let directory = opendir("/proc/\(pid)/fd") else { return false }
        defer { closedir(directory) }
        let target = "socket:[\(inode)]"
        while let entry = readdir(directory) {
            let number = withUnsafeBytes(of: &entry.pointee.d_name) { Int32(decimal: $0.prefix { $0 != 0 }) }
            if let number, SymbolicLink.target("/proc/\(pid)/fd/\(number)") == target { return true }
        }
        return false
    }

    /// The sockets that listen on an address in the network namespace of a process; if it is TCP and connections wait to be
    /// accepted, only those for which they do.
    ///
    /// Waits for no file system, so a Unix socket is found by the name that it was bound by; a relative one may be another
    /// program's.
    static func all(on address: NetworkAddress, inNamespaceOf pid: Int32) -> Set<UInt64> {
        var (found, crowded): (Set<UInt64>, Set<UInt64>) = ([], [])
        var tables = ["unix"]
        if case .tcp = address { tables = ["tcp", "tcp6"] }
        for table in tables {
            guard let file = try? OwnedDescriptor(opening: "/proc/\(pid)/net/\(table)", flags: O_RDONLY) else {
                continue
            }
            Procfs.forEachLine(file, limit: 4 << 20) { line in
                if case .unix(let path) = address {
                    let socket = ListeningSockets.listeningUnixSocket(line)
                    if let (inode, name) = socket, isName(name, of: path) { found.insert(inode) }
                    return true
                }
                switch SocketTable.entry(line, matching: address) {
                case .match(let inode):
                    found.insert(inode)
                    if InternetSocket(parsing: line)?.receiveQueue ?? 0 > 0 { crowded.insert(inode) }
                case .other: break
                case .end: return false
                }
                return true
            }
        }
        return crowded.isEmpty ? found : crowded
    }

    /// Whether a Unix socket may have been bound to a path by this name.
    private static func isName(_ name: String, of path: String) -> Bool {
        if name == path { return true }
        let relative = name.hasPrefix("./") ? name.dropFirst(2) : name[...]
        return !["/", "@"].contains(where: name.hasPrefix) && path.hasSuffix("/\(relative)")
    }

    private static func find(_ address: NetworkAddress, in path: String) -> ListeningSocket? {
        guard let file = try? OwnedDescriptor(opening: path, flags: O_RDONLY) else { return nil }
        var found: ListeningSocket?
        Procfs.forEachLine(file, limit: 16 << 20) { line in
            switch SocketTable.entry(line, matching: address) {
            case .match(let inode): found = ListeningSocket(inode: inode)
            case .other: return true
            case .end: break
            }
            return false
        }
        return found
    }
}

/// The lines of `/proc/net/tcp`, `tcp6` and `unix`: proc_pid_net(5).
enum SocketTable {
    enum Entry: Equatable {
        case match(inode: UInt64)
        case other
        /// There are no more listening sockets.
        case end
    }

    static func entry(_ line: some BidirectionalCollection<UInt8>, matching address: NetworkAddress) -> Entry {
        switch address {
        case .tcp(let host, let port): tcp(line, host, port)
        case .unix(let path): unix(line, name: path)
        case .abstract(let name): unix(line, name: "@\(name)")
        }
    }

    private static func tcp(
        _ line: some BidirectionalCollection<UInt8>,
        _ host: NetworkAddress.Host,
        _ port: UInt16
    ) -> Entry {
        let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 10)
        // The first field of the header line does not end in a colon.
        guard fields.count >= 10, fields[0].last == UInt8(ascii: ":") else { return .other }
        // Listening sockets come first: tcp_seq_start, net/ipv4/tcp_ipv4.c. On a busy machine the rest is long.
        guard fields[3].elementsEqual("0A".utf8) else { return .end }
        guard let colon = fields[1].firstIndex(of: UInt8(ascii: ":")),
            let bound = words(fields[1][..<colon]),
            let number = UInt16(hexadecimal: fields[1][fields[1].index(after: colon)...]),
            let inode = UInt64(decimal: fields[9])
        else { return .other }
        return number == port && accepts(bound, host) ? .match(inode: inode) : .other
    }

    /// Decodes an address that is printed as 32-bit words in the machine's byte order.
    private static func words(_ digits: some Collection<UInt8>) -> [UInt8]? {
        guard digits.count == 8 || digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        var rest = Substring(decoding: digits, as: UTF8.self).utf8[...]
        while !rest.isEmpty {
            guard let word = UInt32(hexadecimal: rest.prefix(8)) else { return nil }
            withUnsafeBytes(of: word) { bytes += $0 }
            rest = rest.dropFirst(8)
        }
        return bytes
    }

    private static func accepts(_ bound: [UInt8], _ host: NetworkAddress.Host) -> Bool {
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
        // An IPv6 socket bound to all addresses also accepts IPv4 unless it has IPV6_V6ONLY, which is not shown.
        if bound.allSatisfy({ $0 == 0 }) { return bound.count == 16 || !host.isV6 }
        switch host {
        case .any: return true
        case .v4(let bytes): return bound == bytes || bound == mapped + bytes
        case .v6(let bytes): return bound == bytes || (bound.count == 4 && bytes == mapped + bound)
        case .loopback:
            let v6Loopback = [UInt8](repeating: 0, count: 15) + [1]
            return bound == v6Loopback || bound == [127, 0, 0, 1] || bound == mapped + [127, 0, 0, 1]
        }
    }

    private static func unix(_ line: some BidirectionalCollection<UInt8>, name: String) -> Entry {
        // Of thousands of sockets, most have another name.
        guard line.suffix(name.utf8.count).elementsEqual(name.utf8) else { return .other }
        // Num RefCount Protocol Flags Type St Inode Path; the path may contain spaces.
        let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 7)
        guard fields.count == 8, let flags = UInt32(hexadecimal: fields[3]), let inode = UInt64(decimal: fields[6])
        else { return .other }
        let acceptsConnections: UInt32 = 1 << 16  // __SO_ACCEPTCON, include/uapi/linux/net.h
        return flags & acceptsConnections != 0 && fields[7].elementsEqual(name.utf8) ? .match(inode: inode) : .other
    }
}

extension NetworkAddress.Host {
    fileprivate var isV6: Bool {
        if case .v6 = self { true } else { false }
    }
}

extension FixedWidthInteger {
    /// Parses hexadecimal digits without sign or prefix; nil for anything else or on overflow.
    fileprivate init?(hexadecimal digits: some Collection<UInt8>) {
        guard !digits.isEmpty, digits.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let value = Self(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return nil }
        self = value
    }
}
