// SPDX-License-Identifier: Apache-2.0

package import Glibc
import WatchdogBase

/// A TCP address in text form: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`.
package struct SocketAddress: Sendable, CustomStringConvertible {
    /// A text that is not an address, with the accepted forms.
    package struct SyntaxError: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    private let storage: sockaddr_storage
    private let length: socklen_t

    /// - Throws: ``SyntaxError`` also for names other than `localhost`, because a lookup may take arbitrarily long.
    package init(parsing text: String) throws(SyntaxError) {
        let advice = "write 127.0.0.1:8080, [::1]:8080 or localhost:8080"
        let address: NetworkAddress
        do throws(NetworkAddress.SyntaxError) {
            address = try NetworkAddress(parsing: text, ports: 0...65_535)
        } catch {
            throw SyntaxError(description: "\(error.reason); \(advice)")
        }
        switch address {
        case .tcp(.loopback, let port): self = .loopback(port)
        case .tcp(.v4(let bytes), let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
            self.init(address)
        case .tcp(.v6(let bytes), let port):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
            self.init(address)
        case .tcp(.any, _), .unix, .abstract:
            throw SyntaxError(description: "'\(text)' is not the address of one TCP port; \(advice)")
        }
    }

    /// The IPv4 loopback address with a port; 0 for any free one.
    package static func loopback(_ port: UInt16) -> SocketAddress {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return SocketAddress(address)
    }

    /// The address to which a socket is bound; used to learn the port that the kernel chose.
    package init(boundBy descriptor: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = withUnsafeMutableBytes(of: &storage) { bytes in
            getsockname(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, &length)
        }
        (self.storage, self.length) = (storage, length)
    }

    private init<Address>(_ address: Address) {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { target in
            withUnsafeBytes(of: address) { target.copyMemory(from: $0) }
        }
        self.storage = storage
        length = socklen_t(MemoryLayout.size(ofValue: address))
    }

    package var family: Int32 { Int32(storage.ss_family) }

    package var port: UInt16 {
        // sin_port and sin6_port have the same offset, after the family.
        withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
    }

    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let host = withUnsafeBytes(of: storage) { bytes in
            // The offsets of sin_addr and sin6_addr: ip(7), ipv6(7).
            let offset = family == AF_INET6 ? 8 : 4
            inet_ntop(family, bytes.baseAddress.map { $0 + offset }, &text, socklen_t(text.count))
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return family == AF_INET6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    package func withPointer<Result>(_ body: (UnsafePointer<sockaddr>?, socklen_t) -> Result) -> Result {
        withUnsafeBytes(of: storage) { body($0.assumingMemoryBound(to: sockaddr.self).baseAddress, length) }
    }
}
