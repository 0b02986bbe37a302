// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The kind of a descriptor that another process opened, as far as a supervisor needs to distinguish them.
public enum DescriptorKind: Hashable, Sendable {
    /// One end of a sequenced-packet pair.
    case channel
    /// A datagram socket and the address that it is bound to: a path, or `@` and an abstract name.
    case notifySocket(address: String)
    /// A pidfd and its process; nil when the process has exited and was reaped.
    case process(Int32?)
    /// Anything else.
    case other

    /// Inspects a descriptor.
    public init(of descriptor: OwnedDescriptor) {
        self = Self.socketKind(of: descriptor.number) ?? Self.processKind(of: descriptor.number) ?? .other
    }

    private static func socketKind(of number: Int32) -> DescriptorKind? {
        var type: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &length) == 0 else { return nil }
        var address = sockaddr_un()
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let named = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &length) }
        }
        guard named == 0, address.sun_family == sa_family_t(AF_UNIX) else { return .other }
        switch type {
        case Int32(SOCK_SEQPACKET.rawValue): return .channel
        case Int32(SOCK_DGRAM.rawValue): return .notifySocket(address: name(in: address, length: Int(length)))
        default: return .other
        }
    }

    private static func name(in address: sockaddr_un, length: Int) -> String {
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let count = max(0, min(length, MemoryLayout<sockaddr_un>.size) - start)
        let bytes = withUnsafeBytes(of: address.sun_path) { Array($0.prefix(count)) }
        // An abstract name begins with NUL and is delimited only by the length; a path ends with NUL: unix(7).
        if bytes.first == 0 { return "@" + String(decoding: bytes.dropFirst(), as: UTF8.self) }
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// From `/proc/self/fdinfo`: proc_pid_fdinfo(5), "Pid:" is −1 for a process that is gone.
    private static func processKind(of number: Int32) -> DescriptorKind? {
        let text = Procfs.read("/proc/self/fdinfo/\(number)", limit: 4096) ?? []
        for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: "Pid:".utf8) {
            let value = line.dropFirst(4).drop { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: " ") }
            return .process(Int32(decimal: value).flatMap { $0 > 0 ? $0 : nil })
        }
        return nil
    }
}
