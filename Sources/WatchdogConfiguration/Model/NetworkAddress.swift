// SPDX-License-Identifier: Apache-2.0

/// The address of a socket on this machine.
///
/// It is written `8080`, `127.0.0.1:8080`, `localhost:8080`, `[::1]:8080`, `*:8080`, `/run/app.sock` or
/// `@abstract-name`. Names other than `localhost` are not resolved, because a resolver may block.
public enum NetworkAddress: Hashable, Sendable, Codable, CustomStringConvertible {
    /// A TCP port at an address.
    case tcp(Host, port: UInt16)
    /// A Unix socket by its path.
    case unix(path: String)
    /// A Unix socket by its abstract name.
    case abstract(name: String)

    private enum CodingKeys: String, CodingKey { case tcp, unix, abstract }
    private enum TcpCodingKeys: String, CodingKey { case _0, port }
    private enum UnixCodingKeys: String, CodingKey { case path }
    private enum AbstractCodingKeys: String, CodingKey { case name }

    /// The address of a TCP port.
    public enum Host: Hashable, Sendable, Codable {
        /// Any address of either family.
        case any
        /// The loopback address of either family.
        case loopback
        /// An IPv4 address: four bytes.
        case v4([UInt8])
        /// An IPv6 address: sixteen bytes.
        case v6([UInt8])

        private enum CodingKeys: String, CodingKey { case any, loopback, v4, v6 }
    }

    /// The address as it is written in settings.
    public var description: String {
        switch self {
        case .tcp(.any, let port): "*:\(port)"
        case .tcp(.loopback, let port): "localhost:\(port)"
        case .tcp(.v4(let bytes), let port): "\(bytes.map { "\($0)" }.joined(separator: ".")):\(port)"
        case .tcp(.v6(let bytes), let port): "[\(AddressReader.text(ofV6: bytes))]:\(port)"
        case .unix(let path): path
        case .abstract(let name): "@\(name)"
        }
    }
}
