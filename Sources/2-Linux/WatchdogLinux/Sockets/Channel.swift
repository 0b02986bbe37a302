// SPDX-License-Identifier: Apache-2.0

import CLinux

/// The supervisor's end of the connection to one app: sequenced packets; nothing waits.
public final class Channel: Sendable {
    /// The result of sending a message.
    public enum Sending: Hashable, Sendable {
        /// The message was sent.
        case sent
        /// There was no room, because the app does not read.
        case full
        /// The app has closed its end.
        case closed
    }

    /// What was received from the app.
    public enum Reception: Sendable {
        /// A message.
        case message(SocketMessage)
        /// There is no message right now.
        case nothing
        /// The app and everyone it shared its end with have closed it.
        case closed
    }

    /// Readable when a message has arrived or the app has closed its end.
    public let descriptor: OwnedDescriptor
    /// Whether the kernel refuses descriptors that the app tries to pass: since Linux 6.16.
    ///
    /// If not, a ``Closer`` must keep the descriptor.
    public let refusesDescriptors: Bool

    /// Takes ownership of the supervisor's end of a pair, for example one that a service manager kept.
    public init(_ descriptor: OwnedDescriptor) {
        self.descriptor = descriptor
        refusesDescriptors = wd_socket_refuse_descriptors(descriptor.number) == 0
    }

    /// Creates both ends; the app's end is passed through ``SpawnRequest/descriptors`` and then released.
    public static func pair() throws(LinuxError) -> (supervisor: Channel, app: OwnedDescriptor) {
        var ends: [Int32] = [-1, -1]
        _ = try check("create a pair of sockets") { wd_socket_pair(&ends) }
        return (Channel(OwnedDescriptor(taking: ends[0])), OwnedDescriptor(taking: ends[1]))
    }

    /// Sends a message.
    ///
    /// - Throws: ``LinuxError`` for anything but a full or closed channel.
    public func send(_ bytes: [UInt8]) throws(LinuxError) -> Sending {
        guard wd_socket_send(descriptor.number, bytes, bytes.count) != 0 else { return .sent }
        switch Errno.current {
        case .wouldBlock: return .full
        case .brokenPipe, .connectionReset: return .closed
        case let error: throw LinuxError("send to socket \(descriptor.number)", error)
        }
    }

    /// Receives the next message.
    ///
    /// Only for a program that the caller runs for its own user, as ``NotifySocket/receive()``.
    ///
    /// - Throws: ``LinuxError`` for anything but an empty or closed channel.
    public func receive() throws(LinuxError) -> Reception {
        Reception(try SocketMessage.receive(from: descriptor))
    }

    /// Passes the next message to `body`, and removes it from the channel afterward.
    ///
    /// A message with descriptors stays, and must be removed by a ``Closer`` before the channel is read again.
    /// If this process is killed before `body` returns, the next owner of the channel receives the message again.
    /// `body` must not receive from the channel.
    ///
    /// - Throws: ``LinuxError`` for anything but an empty or closed channel.
    public func heed(_ body: (SocketMessage) -> Void) throws(LinuxError) -> Reception {
        Reception(try SocketMessage.heed(from: descriptor, WD_ORIGIN_SENDER, body))
    }
}

extension Channel.Reception {
    fileprivate init(_ reception: SocketMessage.Reception) {
        self =
            switch reception {
            case .message(let message): .message(message)
            case .nothing: .nothing
            case .end: .closed
            }
    }
}
