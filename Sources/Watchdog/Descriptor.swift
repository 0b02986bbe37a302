// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A file descriptor that is closed with its last reference.
final class Descriptor: Sendable {
    let number: Int32

    init(owning number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// Takes over an inherited descriptor if it is what a supervisor passes: a connected `AF_UNIX` `SOCK_SEQPACKET`
    /// socket.
    ///
    /// Any other descriptor belongs to other code and stays untouched. The channel becomes close-on-exec, so child
    /// processes do not inherit it.
    static func channel(inherited number: Int32) -> Descriptor? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isConnected = withUnsafeMutableBytes(of: &address) { bytes in
            getpeername(number, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, &length) == 0
        }
        guard isConnected,
            option(SO_DOMAIN, of: number) == AF_UNIX,
            option(SO_TYPE, of: number) == Int32(SOCK_SEQPACKET.rawValue),
            fcntl(number, F_SETFD, FD_CLOEXEC) == 0
        else { return nil }
        return Descriptor(owning: number)
    }

    private static func option(_ name: Int32, of number: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(number, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }
}
