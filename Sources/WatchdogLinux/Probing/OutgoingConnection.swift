// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A stream connection that this process makes, of which no call waits.
public final class OutgoingConnection {
    /// How far a connection has come.
    public enum Progress: Hashable, Sendable {
        /// The kernel has connected it.
        case connected
        /// It becomes writable when it is connected or has failed.
        case pending
        /// The queue of the listening socket is full: to be tried again.
        case queueFull
    }

    /// What a read brought.
    public enum Reading: Hashable, Sendable {
        /// These bytes.
        case bytes([UInt8])
        /// Nothing yet.
        case nothing
        /// The other side will send no more.
        case end
    }

    /// For the loop.
    public let descriptor: OwnedDescriptor
    private let address: SocketAddress
    private var diagnosis: OwnedDescriptor?

    /// Creates a socket that is not connected yet.
    ///
    /// - Throws: ``LinuxError`` for a want of this process or machine, never of the other side.
    public init(to address: SocketAddress) throws(LinuxError) {
        self.address = address
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = OwnedDescriptor(taking: try check("create a socket") { socket(address.family, type, 0) })
    }

    /// Connects, or tries again after ``Progress/queueFull``.
    public func connect() throws(LinuxError) -> Progress {
        let result = address.bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return Int32(-1) }
            let pointer = base.assumingMemoryBound(to: sockaddr.self)
            return Glibc.connect(descriptor.number, pointer, socklen_t(bytes.count))
        }
        guard result != 0 else { return .connected }
        let error = Errno.current
        switch (error.rawValue, address.family) {
        // A signal does not end the attempt: connect(2).
        case (EINPROGRESS, _), (EINTR, _): return .pending
        // A Unix socket has nobody who would tell when there is room: unix(7).
        case (EAGAIN, AF_UNIX): return .queueFull
        default: throw LinuxError("connect", error)
        }
    }

    /// What became of a connection that was pending, once it is writable.
    public func finish() throws(LinuxError) {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        _ = try check("connect") { getsockopt(descriptor.number, SOL_SOCKET, SO_ERROR, &error, &size) }
        guard error == 0 else { throw LinuxError("connect", Errno(rawValue: error)) }
    }

    /// Sends what there is room for; returns how much that was.
    public func send(_ bytes: ArraySlice<UInt8>) throws(LinuxError) -> Int {
        let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count < 0 else { return count }
        let error = Errno.current
        guard error == .wouldBlock || error == .interrupted else { throw LinuxError("send", error) }
        return 0
    }

    /// Receives at most `limit` bytes.
    public func receive(limit: Int = 16 << 10) throws(LinuxError) -> Reading {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
            count = recv(descriptor.number, buffer.baseAddress, buffer.count, 0)
            initialized = max(0, count)
        }
        guard count < 0 else { return bytes.isEmpty ? .end : .bytes(bytes) }
        let error = Errno.current
        guard error == .wouldBlock || error == .interrupted else { throw LinuxError("receive", error) }
        return .nothing
    }

    /// Whether the program on the other side has taken the connection out of its queue; nil when the kernel does not tell.
    ///
    /// A connection is there as soon as the kernel has queued it, however long the program has been stuck.
    public var isAccepted: Bool? {
        if diagnosis == nil {
            let number = wd_acceptance_open()
            guard number >= 0 else { return nil }
            diagnosis = OwnedDescriptor(taking: number)
        }
        guard let diagnosis else { return nil }
        return switch wd_acceptance_ask(diagnosis.number, descriptor.number) {
        case WD_ACCEPTED: true
        case WD_NOT_ACCEPTED: false
        default: nil
        }
    }
}
