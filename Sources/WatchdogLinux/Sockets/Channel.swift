// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The supervisor's end of an app's channel: a connected pair of SOCK_SEQPACKET sockets, unix(7).
///
/// Isolation: immutable; used by the loop.
public struct Channel: Sendable {
    /// What one attempt to read found.
    public enum Reading: Sendable {
        /// A message.
        case message(Datagram)
        /// Nothing now.
        case nothing
        /// The app's end is closed for good.
        case closed
    }

    /// The supervisor's end, non-blocking.
    public let descriptor: OwnedDescriptor

    /// Creates a channel.
    ///
    /// - Returns: the supervisor's end and the app's, which is to be dropped once the app has it.
    public static func make() throws(LinuxError) -> (channel: Channel, appEnd: OwnedDescriptor) {
        var ends: [Int32] = [-1, -1]
        _ = try check("create a channel") { wd_channel(&ends) }
        return (Channel(descriptor: OwnedDescriptor(taking: ends[0])), OwnedDescriptor(taking: ends[1]))
    }

    /// Sends one message.
    ///
    /// - Returns: false when it was dropped because the app does not read, or is gone.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool {
        wd_send(descriptor.number, bytes, bytes.count) == bytes.count
    }

    private var isHungUp: Bool {
        var entry = pollfd(fd: descriptor.number, events: 0, revents: 0)
        return poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLHUP) != 0
    }

    /// Reads one message without blocking; an error on the socket counts as closed.
    public func receive() -> Reading {
        do {
            guard let message = try Datagram.receive(from: descriptor.number) else { return .nothing }
            // SOCK_SEQPACKET tells the end by an empty message, and so does a client that sends one: recv(2).
            return message.bytes.isEmpty && isHungUp ? .closed : .message(message)
        } catch {
            return .closed
        }
    }
}
