// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A datagram and who sent it, as the kernel vouches.
public struct SocketMessage: Sendable {
    /// The longest message that is taken whole.
    public static let longest = 4096

    /// Its bytes, at most ``longest`` of them.
    public let bytes: [UInt8]
    /// True when it was longer.
    public let isTruncated: Bool
    /// The process that sent it; 0 when it is outside the supervisor's pid namespace.
    public let senderProcess: Int32
    /// The sender's effective user id at that time.
    public let senderUser: UInt32
    /// The sender's effective group id at that time.
    public let senderGroup: UInt32
    /// Descriptors that came with it, closed when the message goes.
    ///
    /// Closing is the answer to `BARRIER=1` (sd_notify_barrier(3)): the message is to be kept until it has been
    /// processed.
    public let attachments: [OwnedDescriptor]

    /// Creates a message from its parts.
    public init(
        bytes: [UInt8],
        isTruncated: Bool = false,
        senderProcess: Int32,
        senderUser: UInt32,
        senderGroup: UInt32,
        attachments: [OwnedDescriptor] = []
    ) {
        self.bytes = bytes
        self.isTruncated = isTruncated
        self.senderProcess = senderProcess
        self.senderUser = senderUser
        self.senderGroup = senderGroup
        self.attachments = attachments
    }

    /// What receiving can give.
    enum Reception {
        case message(SocketMessage)
        case nothing
        case end
    }

    /// Receives without waiting.
    ///
    /// - Parameter stays: Whether the message stays in the socket, to be received again.
    static func receive(from socket: OwnedDescriptor, stays: Bool = false) throws(LinuxError) -> Reception {
        var message = wd_socket_message()
        let (bytes, result, error) = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: longest) { buffer in
            let result = wd_socket_receive(socket.number, stays, buffer.baseAddress, buffer.count, &message)
            let error = Errno.current
            return (result == 0 ? Array(buffer.prefix(message.length)) : [], result, error)
        }
        guard result == 0 else {
            switch error {
            case .wouldBlock: return .nothing
            case .connectionReset: return .end
            default: throw LinuxError("receive from socket \(socket.number)", error)
            }
        }
        let attachments = withUnsafeBytes(of: &message.descriptors) { descriptors in
            descriptors.bindMemory(to: Int32.self).prefix(message.descriptor_count)
                .map { OwnedDescriptor(taking: $0) }
        }
        guard !message.end else { return .end }
        return .message(
            SocketMessage(
                bytes: bytes,
                isTruncated: message.truncated,
                senderProcess: message.pid,
                senderUser: message.user,
                senderGroup: message.group,
                attachments: attachments
            )
        )
    }

    /// Hands the next message to `body`, and takes it out of the socket afterwards.
    static func heed(from socket: OwnedDescriptor, _ body: (SocketMessage) -> Void) throws(LinuxError) -> Reception {
        let reception = try receive(from: socket, stays: true)
        if case .message(let message) = reception {
            body(message)
            wd_socket_discard(socket.number)
        }
        return reception
    }
}
