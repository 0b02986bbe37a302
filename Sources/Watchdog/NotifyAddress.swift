// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The address in `NOTIFY_SOCKET`: an absolute path, or `@` and a name in the abstract namespace.
///
/// Source: sd_notify(3), "Environment"; unix(7), "Address format". `vsock:` addresses, which reach out of a virtual machine,
/// are not supported.
struct NotifyAddress: Sendable {
    private let address: sockaddr_un
    private let length: socklen_t

    init?(_ text: String) {
        var name = Array(text.utf8)
        guard let first = name.first, name.count > 1 else { return nil }
        switch first {
        case UInt8(ascii: "/"): name.append(0)
        case UInt8(ascii: "@"): name[0] = 0
        default: return nil
        }
        var address = sockaddr_un()
        guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        self.address = address
        length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    }

    /// Calls `body` with the address as system calls take it.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
