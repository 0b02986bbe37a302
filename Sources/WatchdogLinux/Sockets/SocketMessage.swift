// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A datagram and its sender, as attested by the kernel.
public struct SocketMessage: Sendable {
    /// The longest message that is received in full.
    public static let longest = 4096

    /// The bytes, at most ``longest`` of them.
    public let bytes: [UInt8]
    /// Whether the message was longer.
    public let isTruncated: Bool
    /// The sending process; 0 if it is outside the supervisor's pid namespace.
    public let senderProcess: Int32
    /// The sender's effective user ID when it sent the message.
    public let senderUser: UInt32
    /// The sender's effective group ID when it sent the message.
    public let senderGroup: UInt32
    /// The time since the message was sent, by the wall clock: wrong if the clock was set in between, zero if unknown.
    public let age: Duration
    /// The sending process, held since it sent the message; nil if the kernel does not say.
    public let sender: Pidfd?
    /// Whether the sender was reaped, and the kernel knows nothing more of it.
    public let isSenderLost: Bool
    /// The descriptors that came with the message; closed off the loop when the message is released.
    ///
    /// Closing them answers `BARRIER=1` (sd_notify_barrier(3)), so the message must be kept until it has been
    /// processed.
    public let attachments: [OwnedDescriptor]

    /// Creates a message from its parts.
    public init(
        bytes: [UInt8],
        isTruncated: Bool = false,
        senderProcess: Int32,
        senderUser: UInt32,
        senderGroup: UInt32,
        age: Duration = .zero,
        sender: Pidfd? = nil,
        isSenderLost: Bool = false,
        attachments: [OwnedDescriptor] = []
    ) {
        self.bytes = bytes
        self.isTruncated = isTruncated
        self.senderProcess = senderProcess
        self.senderUser = senderUser
        self.senderGroup = senderGroup
        self.age = age
        self.sender = sender
        self.isSenderLost = isSenderLost
        self.attachments = attachments
    }

    /// The result of receiving.
    enum Reception {
        case message(SocketMessage)
        case nothing
        case end
    }

    /// Receives a message without waiting.
    ///
    /// While descriptors from earlier messages are stuck in the ``Closer``, the socket is not read.
    ///
    /// - Parameter stays: Whether the message stays in the socket and can be received again.
    static func receive(from socket: OwnedDescriptor, stays: Bool = false) throws(LinuxError) -> Reception {
        var bytes: [UInt8] = []
        let received = withUnsafeTemporaryAllocation(byteCount: longest, alignment: 1) { buffer in
            let received = take(from: socket, into: buffer, stays: stays)
            if case .success((let message, _)) = received { bytes = Array(buffer.prefix(message.length)) }
            return received
        }
        switch received {
        case .failure(.wouldBlock): return .nothing
        case .failure(.connectionReset): return .end
        case .failure(let error): throw LinuxError("receive from socket \(socket.number)", error)
        case .success((let message, let attachments)):
            guard !message.end else { return .end }
            return .message(
                SocketMessage(
                    bytes: bytes,
                    isTruncated: message.truncated,
                    senderProcess: message.pid,
                    senderUser: message.user,
                    senderGroup: message.group,
                    age: .nanoseconds(message.age),
                    // SAFETY: the kernel made the descriptor for this message, and closing a pidfd never blocks.
                    sender: message.sender < 0
                        ? nil : Pidfd(pid: message.pid, descriptor: OwnedDescriptor(taking: message.sender)),
                    isSenderLost: message.is_reaped,
                    attachments: attachments
                )
            )
        }
    }

    /// Reads bytes from a stream without waiting; descriptors that come with them are closed off the loop.
    ///
    /// - Returns: the number of bytes; 0 at the end and after an error, nil if there are none right now.
    public static func read(from stream: OwnedDescriptor, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        switch take(from: stream, into: buffer, stays: false) {
        case .success((let message, _)): message.length
        case .failure(.wouldBlock): nil
        case .failure: 0
        }
    }

    private static func take(
        from socket: OwnedDescriptor, into buffer: UnsafeMutableRawBufferPointer, stays: Bool
    ) -> Result<(wd_socket_message, [OwnedDescriptor]), Errno> {
        guard Closer.hasRoom(lane: socket.number) else { return .failure(.wouldBlock) }
        return withUnsafeTemporaryAllocation(of: Int32.self, capacity: WD_SOCKET_MOST_DESCRIPTORS) { numbers in
            var message = wd_socket_message()
            let result = wd_socket_receive(
                socket.number, stays, buffer.baseAddress, buffer.count, &message, numbers.baseAddress)
            guard result == 0 else { return .failure(.current) }
            let passed = numbers.prefix(message.descriptor_count)
            let attachments = passed.map { OwnedDescriptor(taking: $0, closing: .beside(lane: socket.number)) }
            return .success((message, attachments))
        }
    }

    /// Passes the next message to `body`, and removes it from the socket afterward.
    ///
    /// Removing it drops the kernel's references to its descriptors. That never blocks, because the message is kept
    /// until then, and with it a copy of each.
    static func heed(from socket: OwnedDescriptor, _ body: (SocketMessage) -> Void) throws(LinuxError) -> Reception {
        let reception = try receive(from: socket, stays: true)
        if case .message(let message) = reception {
            withExtendedLifetime(message) {
                body(message)
                wd_socket_discard(socket.number)
            }
        }
        return reception
    }
}
