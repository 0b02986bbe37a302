// SPDX-License-Identifier: Apache-2.0

import CLinux

/// The supervisor's end of the connection to one app: sequenced packets, never waiting.
public final class Channel: Sendable {
    /// What became of a message.
    public enum Sending: Hashable, Sendable {
        /// It is on its way.
        case sent
        /// There was no room: the app does not read.
        case full
        /// The app has closed its end.
        case closed
    }

    /// What came from the app.
    public enum Reception: Sendable {
        /// A message.
        case message(SocketMessage)
        /// None at present.
        case nothing
        /// The app, and everyone it gave its end to, has closed it.
        case closed
    }

    /// Readable when a message is there or the app has closed its end.
    public let descriptor: OwnedDescriptor

    /// Takes over the supervisor's end of a pair, for example one that a service manager kept.
    public init(_ descriptor: OwnedDescriptor) {
        self.descriptor = descriptor
    }

    /// Creates both ends; the app's is passed on by ``SpawnRequest/descriptors`` and then released.
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

    /// Takes the next message.
    ///
    /// - Throws: ``LinuxError`` for anything but an empty or closed channel.
    public func receive() throws(LinuxError) -> Reception {
        Reception(try SocketMessage.receive(from: descriptor))
    }

    /// Hands the next message to `body`, and takes it out of the channel afterwards.
    ///
    /// Should the process be killed before `body` has returned, whoever has the channel then gets the message again.
    /// `body` must not receive from the channel.
    ///
    /// - Throws: ``LinuxError`` for anything but an empty or closed channel.
    public func heed(_ body: (SocketMessage) -> Void) throws(LinuxError) -> Reception {
        Reception(try SocketMessage.heed(from: descriptor, body))
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
