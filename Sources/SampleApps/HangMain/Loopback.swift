// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Calls `body` with the address of a port on 127.0.0.1.
func withLoopback<Result>(_ port: in_port_t, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    return withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}

/// Creates a socket bound to a port of 127.0.0.1 that the kernel chooses.
func boundSocket(_ type: __socket_type) -> Int32 {
    let number = socket(AF_INET, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0, withLoopback(0, { bind(number, $0, $1) }) == 0 else { giveUp("cannot bind to 127.0.0.1") }
    return number
}

/// The port that a socket is bound to.
func port(of number: Int32) -> in_port_t {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(number, $0, &length) }
    }
    return in_port_t(bigEndian: address.sin_port)
}
