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
    /// The sending process, held since it sent the message; nil if nobody has asked, or the kernel does not say.
    public private(set) var sender: Pidfd?
    /// Whether the sender was asked for and was reaped, and the kernel knows nothing more of it.
    public private(set) var isSenderLost: Bool
    /// Whether descriptors came with it, which are still in the socket.
    ///
    /// Closing them answers `BARRIER=1` (sd_notify_barrier(3)), so the message must be handled before it is removed; and
    /// only a ``Closer`` may remove it.
    public let hasDescriptors: Bool

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
        hasDescriptors: Bool = false
    ) {
        self.bytes = bytes
        self.isTruncated = isTruncated
        self.senderProcess = senderProcess
        self.senderUser = senderUser
        self.senderGroup = senderGroup
        self.age = age
        self.sender = sender
        self.isSenderLost = isSenderLost
        self.hasDescriptors = hasDescriptors
    }

    /// The result of receiving.
    enum Reception {
        case message(SocketMessage)
        case nothing
        case end
    }

    /// Looks at the first message without waiting and without removing it or receiving its descriptors.
    static func peek(
        from socket: OwnedDescriptor, _ origin: wd_socket_origin
    ) throws(LinuxError) -> Reception {
        try get(socket) { wd_socket_peek(socket.number, origin, $0.baseAddress, $0.count, &$1) }
    }

    /// Receives a message without waiting; the kernel closes here what descriptors came with it.
    ///
    /// Only for messages of programs that the caller runs for its own user.
    ///
    /// - Parameter passed: gets them first.
    static func receive(
        from socket: OwnedDescriptor, _ passed: ([OwnedDescriptor]) -> Void = { _ in }
    ) throws(LinuxError) -> Reception {
        try get(socket) { buffer, message in
            withUnsafeTemporaryAllocation(of: Int32.self, capacity: WD_SOCKET_MOST_DESCRIPTORS) { numbers in
                let result = wd_socket_receive(
                    socket.number, buffer.baseAddress, buffer.count, &message, numbers.baseAddress)
                let count = result == 0 ? message.descriptor_count : 0
                passed(numbers.prefix(count).map { OwnedDescriptor(taking: $0) })
                return result
            }
        }
    }

    private static func get(
        _ socket: OwnedDescriptor, _ call: (UnsafeMutableRawBufferPointer, inout wd_socket_message) -> Int32
    ) throws(LinuxError) -> Reception {
        var message = wd_socket_message()
        var bytes: [UInt8] = []
        var errno: Errno?
        withUnsafeTemporaryAllocation(byteCount: longest, alignment: 1) { buffer in
            if call(buffer, &message) == 0 {
                bytes = Array(buffer.prefix(message.length))
            } else {
                errno = .current
            }
        }
        switch errno {
        case .wouldBlock?: return .nothing
        case .connectionReset?: return .end
        case let error?: throw LinuxError("receive from socket \(socket.number)", error)
        case nil: return message.end ? .end : .message(SocketMessage(bytes, message))
        }
    }

    private init(_ bytes: [UInt8], _ message: wd_socket_message) {
        self.init(
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
            hasDescriptors: message.has_descriptors
        )
    }

    /// Passes the next message to `body`, and removes it from the socket afterward, unless it has descriptors.
    ///
    /// - Parameter isKnown: whether ``sender`` is not needed. A message with descriptors has none.
    static func heed(
        from socket: OwnedDescriptor, _ origin: wd_socket_origin,
        identifiesUnless isKnown: (SocketMessage) -> Bool = { _ in true }, _ body: (SocketMessage) -> Void
    ) throws(LinuxError) -> Reception {
        let reception = try peek(from: socket, origin)
        guard case .message(var message) = reception else { return reception }
        if !message.hasDescriptors, !isKnown(message) { message.identifySender(in: socket) }
        body(message)
        if !message.hasDescriptors { wd_socket_discard(socket.number) }
        return .message(message)
    }

    /// Asks the kernel for the sender of the first message of a socket, which is this one.
    private mutating func identifySender(in socket: OwnedDescriptor) {
        var answer = wd_socket_message()
        answer.sender = -1
        wd_socket_identify(socket.number, &answer)
        // SAFETY: the kernel made the descriptor for this message, and closing a pidfd never blocks.
        if answer.sender >= 0 {
            sender = Pidfd(pid: senderProcess, descriptor: OwnedDescriptor(taking: answer.sender))
        }
        isSenderLost = answer.is_reaped
    }

    /// Reads bytes from a stream of a stranger without waiting; descriptors that come with them end it.
    ///
    /// - Parameter refusesDescriptors: whether the kernel refuses them when they are sent.
    /// - Returns: the number of bytes; 0 at the end, after an error, and before descriptors; nil if there are none right now.
    public static func read(
        from stream: OwnedDescriptor, into buffer: UnsafeMutableRawBufferPointer, refusesDescriptors: Bool
    ) -> Int? {
        do throws(LinuxError) {
            return try receiveBytes(from: stream, into: buffer, refusesDescriptors: refusesDescriptors)
        } catch {
            return 0
        }
    }

    /// The same, with errors.
    static func receiveBytes(
        from stream: OwnedDescriptor, into buffer: UnsafeMutableRawBufferPointer, refusesDescriptors: Bool
    ) throws(LinuxError) -> Int? {
        var room = buffer.count
        if !refusesDescriptors {
            var message = wd_socket_message()
            guard wd_socket_peek(stream.number, WD_ORIGIN_NONE, buffer.baseAddress, room, &message) == 0 else {
                return try nothing()
            }
            guard !message.has_descriptors else { return 0 }
            // What follows may have some.
            room = message.length
        }
        let length = recv(stream.number, buffer.baseAddress, room, Int32(MSG_DONTWAIT))
        return length < 0 ? try nothing() : length
    }

    private static func nothing() throws(LinuxError) -> Int? {
        let error = Errno.current
        guard [.wouldBlock, .interrupted].contains(error) else { throw LinuxError("receive", error) }
        return nil
    }
}
