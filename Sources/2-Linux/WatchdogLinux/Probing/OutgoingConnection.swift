// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A stream connection that this process makes; no call on it waits.
public final class OutgoingConnection {
    /// The progress of a connection.
    public enum Progress: Hashable, Sendable {
        /// The kernel has established the connection.
        case connected
        /// The descriptor becomes writable when the connection is established or has failed.
        case pending
        /// The queue of the listening socket is full; try again.
        case queueFull
    }

    /// The result of a read.
    public enum Reading: Hashable, Sendable {
        /// These bytes.
        case bytes([UInt8])
        /// Nothing yet.
        case nothing
        /// The peer will send no more.
        case end
    }

    /// What has become of the connection at the other end.
    public enum Acceptance: Hashable, Sendable {
        /// The program has accepted it.
        case accepted
        /// It waits in the queue of the listening socket.
        case queued
        /// The kernel withholds it from the program until data or the end of data arrives, or the queue has room.
        case withheld
        /// The kernel cannot say.
        case unknown
    }

    /// The socket, for use with the loop.
    public let descriptor: OwnedDescriptor
    /// Whether no descriptors can come through it: not over TCP, nor if the kernel refuses them, since Linux 6.16.
    ///
    /// If not, a ``Closer`` must keep the descriptor.
    var refusesDescriptors: Bool
    private let address: SocketAddress
    private var diagnosis: OwnedDescriptor?

    /// Creates a socket that is not connected yet.
    ///
    /// - Throws: ``LinuxError`` for a problem of this process or machine, never of the peer.
    public init(to address: SocketAddress) throws(LinuxError) {
        self.address = address
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = OwnedDescriptor(taking: try check("create a socket") { socket(address.family, type, 0) })
        refusesDescriptors = address.family != AF_UNIX || wd_socket_refuse_descriptors(descriptor.number) == 0
    }

    /// Connects, or retries after ``Progress/queueFull``.
    public func connect() throws(LinuxError) -> Progress {
        let result = address.bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return Int32(-1) }
            let pointer = base.assumingMemoryBound(to: sockaddr.self)
            return Glibc.connect(descriptor.number, pointer, socklen_t(bytes.count))
        }
        guard result != 0 else { return .connected }
        let error = Errno.current
        switch (error.rawValue, address.family) {
        // A signal does not abort the attempt: connect(2).
        case (EINPROGRESS, _), (EINTR, _): return .pending
        // Unix sockets do not report when the queue has room: unix(7).
        case (EAGAIN, AF_UNIX): return .queueFull
        default: throw LinuxError("connect", error)
        }
    }

    /// Throws if a pending connection failed; call it once the descriptor is writable.
    public func finish() throws(LinuxError) {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        _ = try check("connect") { getsockopt(descriptor.number, SOL_SOCKET, SO_ERROR, &error, &size) }
        guard error == 0 else { throw LinuxError("connect", Errno(rawValue: error)) }
    }

    /// Sends as much as there is room for; returns the number of bytes sent.
    public func send(_ bytes: ArraySlice<UInt8>) throws(LinuxError) -> Int {
        let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count < 0 else { return count }
        let error = Errno.current
        guard error == .wouldBlock || error == .interrupted else { throw LinuxError("send", error) }
        return 0
    }

    /// Receives at most `limit` bytes; passed descriptors are never received, and end the connection.
    public func receive(limit: Int = 16 << 10) throws(LinuxError) -> Reading {
        var count: Int?
        var failure: LinuxError?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
            do throws(LinuxError) {
                count = try SocketMessage.receiveBytes(
                    from: descriptor, into: UnsafeMutableRawBufferPointer(buffer),
                    refusesDescriptors: refusesDescriptors)
            } catch {
                failure = error
            }
            initialized = count ?? 0
        }
        if let failure { throw failure }
        guard count != nil else { return .nothing }
        return bytes.isEmpty ? .end : .bytes(bytes)
    }

    /// Says that no data will follow.
    public func endSending() throws(LinuxError) {
        _ = try check("shut down") { shutdown(descriptor.number, Int32(SHUT_WR)) }
    }

    /// Whether the program at the other end has accepted the connection.
    ///
    /// The kernel establishes and queues a connection even if the program has long been stuck.
    public var acceptance: Acceptance { ask().acceptance }

    /// The inode of the socket that the program at the other end has accepted; nil if it is not known to have.
    public var acceptedSocket: UInt32? {
        let inode = ask().socket
        return inode == 0 ? nil : inode
    }

    private func ask() -> (acceptance: Acceptance, socket: UInt32) {
        if diagnosis == nil {
            let number = wd_acceptance_open()
            guard number >= 0 else { return (.unknown, 0) }
            diagnosis = OwnedDescriptor(taking: number)
        }
        guard let diagnosis else { return (.unknown, 0) }
        var socket: UInt32 = 0
        let acceptance: Acceptance =
            switch wd_acceptance_ask(diagnosis.number, descriptor.number, &socket) {
            case WD_ACCEPTED: .accepted
            case WD_NOT_ACCEPTED: .queued
            case WD_WITHHELD: .withheld
            default: .unknown
            }
        return (acceptance, socket)
    }
}
