// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A TCP or UDP socket, as in a line of `/proc/PID/net/tcp` and similar files: proc_pid_net(5).
struct InternetSocket: Hashable {
    /// `127.0.0.1:8080` or `[::1]:8080`.
    let local: String
    /// Nil if there is none.
    let peer: String?
    /// The number of the state: `include/net/tcp_states.h`.
    let state: UInt8
    /// The number of bytes sent but not acknowledged; for a listening socket, the size of its backlog.
    let sendQueue: UInt32
    /// The number of bytes received but not read; for a listening socket, the number of connections not accepted.
    let receiveQueue: UInt32
    let inode: UInt64

    /// Nil if it has an address of another kind.
    init?(_ socket: wd_internet_socket) {
        guard let local = Self.text(of: socket.local) else { return nil }
        self.local = local
        peer = socket.has_peer ? Self.text(of: socket.peer) : nil
        state = socket.state
        sendQueue = socket.send_queue
        receiveQueue = socket.receive_queue
        inode = socket.inode
    }

    /// Also nil if a different socket is sought: most lines are not parsed any further.
    init?(parsing line: some BidirectionalCollection<UInt8>, withInode sought: UInt64? = nil) {
        let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 10)
        guard fields.count >= 10, fields[0].last == UInt8(ascii: ":"), let inode = UInt64(decimal: fields[9]),
            sought == nil || sought == inode,
            let local = Self.address(fields[1]), let peer = Self.address(fields[2]),
            let state = UInt8(Self.text(fields[3]), radix: 16)
        else { return nil }
        let queues = fields[4].split(separator: UInt8(ascii: ":"))
        guard queues.count == 2, let send = UInt32(Self.text(queues[0]), radix: 16),
            let receive = UInt32(Self.text(queues[1]), radix: 16)
        else { return nil }
        self.local = local.text
        self.peer = peer.port == 0 ? nil : peer.text
        self.state = state
        self.inode = inode
        sendQueue = send
        receiveQueue = receive
    }

    /// Whether a connection has been asked for, and not been accepted.
    var isConnecting: Bool { state == Self.asking && peer == nil }

    /// Its description as an open file, with its peer.
    func described(as name: String, for purpose: WaitLook.Purpose, _ sources: [String]) -> WaitLook.Description {
        WaitLook.Description(description(protocol: name, for: purpose), sources, peer: peer(for: purpose))
    }

    /// The peer, or the one that connect(2) asks for.
    private func peer(for purpose: WaitLook.Purpose) -> String? {
        if case .connecting(let address) = purpose { return peer ?? address }
        return peer
    }

    /// `TCP 127.0.0.1:51234 → 127.0.0.1:8080, ESTABLISHED, nothing to read`.
    func description(protocol name: String, for purpose: WaitLook.Purpose = .receiving) -> String {
        let peer = peer(for: purpose)
        var parts = ["\(name) \(local)" + (peer.map { " → \($0)" } ?? "")]
        if name == "TCP" {
            if Self.states.indices.contains(Int(state)) { parts.append(Self.states[Int(state)]) }
        } else if peer == nil {
            parts.append("no peer")
        }
        if name == "TCP", state == Self.listening {
            parts.append(receiveQueue == 0 ? "no connection to accept" : "\(receiveQueue) connections to accept")
            return parts.joined(separator: ", ")
        }
        switch purpose {
        case .sending, .connecting: break
        case .receiving, .moving:
            guard !isConnecting, state != Self.asking, purpose == .receiving || receiveQueue > 0 else { break }
            parts.append(receiveQueue == 0 ? "nothing to read" : "\(receiveQueue) bytes to read")
        }
        if sendQueue > 0 { parts.append("\(sendQueue) bytes \(name == "TCP" ? "not acknowledged" : "to be sent")") }
        return parts.joined(separator: ", ")
    }

    private static let asking: UInt8 = 2
    private static let listening: UInt8 = 10
    private static let states = [
        "unknown state", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE",
        "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV",
    ]

    private static func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// The kernel prints each 32-bit word of an address as a number in its own byte order, and the port as a number.
    private static func address(_ field: some Collection<UInt8>) -> (text: String, port: UInt16)? {
        let halves = field.split(separator: UInt8(ascii: ":"))
        guard halves.count == 2, halves[0].count == 8 || halves[0].count == 32, halves[1].count == 4,
            let port = UInt16(text(halves[1]), radix: 16)
        else { return nil }
        var bytes: [UInt8] = []
        var digits = halves[0]
        while !digits.isEmpty {
            guard let word = UInt32(text(digits.prefix(8)), radix: 16) else { return nil }
            withUnsafeBytes(of: word) { bytes += $0 }
            digits = digits.dropFirst(8)
        }
        return Self.text(of: bytes, port: port).map { ($0, port) }
    }

    /// A `sockaddr_in` or `sockaddr_in6`, ip(7) and ipv6(7); nil for another one.
    static func text(ofSocketAddress bytes: [UInt8]) -> String? {
        guard bytes.count >= 8 else { return nil }
        let family = Int32(bytes[0]) | Int32(bytes[1]) << 8
        let port = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        switch family {
        case AF_INET: return text(of: Array(bytes[4..<8]), port: port)
        case AF_INET6 where bytes.count >= 24: return text(of: Array(bytes[8..<24]), port: port)
        default: return nil
        }
    }

    private static func text(of address: wd_internet_address) -> String? {
        let bytes = withUnsafeBytes(of: address.bytes) { Array($0.prefix(Int(address.length))) }
        return text(of: bytes, port: address.port)
    }

    /// - Parameter address: 4 or 16 bytes in network order.
    private static func text(of address: [UInt8], port: UInt16) -> String? {
        var bytes = address
        // An IPv4 connection of an IPv6 socket: ::ffff:a.b.c.d.
        if bytes.count == 16, bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff {
            bytes.removeFirst(12)
        }
        let isShort = bytes.count == 4
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(isShort ? AF_INET : AF_INET6, bytes, &buffer, socklen_t(buffer.count)) != nil else {
            return nil
        }
        let name = text(buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) })
        return "\(isShort ? name : "[\(name)]"):\(port)"
    }
}
