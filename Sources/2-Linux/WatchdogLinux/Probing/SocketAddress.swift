// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase

/// A socket address in the form that connect(2) takes.
public struct SocketAddress: Hashable, Sendable {
    let family: Int32
    let bytes: [UInt8]

    /// The addresses to try, one after another, for what a program listens on.
    public static func candidates(for address: NetworkAddress) -> [SocketAddress] {
        switch address {
        case .tcp(.v4(let host), let port): [v4(host, port)]
        case .tcp(.v6(let host), let port): [v6(host, port)]
        case .tcp(.loopback, let port), .tcp(.any, let port):
            [v4([127, 0, 0, 1], port), v6([UInt8](repeating: 0, count: 15) + [1], port)]
        case .unix(let path): [unix(Array(path.utf8) + [0])]
        case .abstract(let name): [unix([0] + Array(name.utf8))]
        }
    }

    private static func v4(_ host: [UInt8], _ port: UInt16) -> SocketAddress {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: host.prefix(4)) }
        return SocketAddress(family: AF_INET, bytes: withUnsafeBytes(of: address) { Array($0) })
    }

    private static func v6(_ host: [UInt8], _ port: UInt16) -> SocketAddress {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: host.prefix(16)) }
        return SocketAddress(family: AF_INET6, bytes: withUnsafeBytes(of: address) { Array($0) })
    }

    /// An address with this name; if it is too long, connect(2) fails.
    private static func unix(_ name: [UInt8]) -> SocketAddress {
        let family = sa_family_t(AF_UNIX)
        return SocketAddress(family: AF_UNIX, bytes: withUnsafeBytes(of: family) { Array($0) } + name)
    }
}
