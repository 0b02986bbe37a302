// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The socket to which apps send sd_notify(3) messages.
///
/// Anyone who can reach the socket can write to it; each message names its sender. Each app has its own socket, so that
/// one app's flood does not affect the others.
public final class NotifySocket {
    /// Readable when a message has arrived.
    public let descriptor: OwnedDescriptor
    /// The value for the app's `NOTIFY_SOCKET`: a path, or an abstract name with `@` in place of the NUL.
    public let address: String
    /// Whether to keep the path when this object is released, for a new owner of the descriptor.
    public var keepsAddress = false

    /// Binds a socket in a directory, or to an abstract name if the path is too long for a socket.
    ///
    /// - Parameters:
    ///   - directory: Where to bind the socket; its path is removed when this object is released.
    ///   - name: The name of the file.
    ///   - user: The only other user who may send to it; nil lets every user send who can enter the directory. An
    ///     abstract name is open to everyone.
    public init(in directory: RuntimeDirectory, name: String, user: UInt32? = nil) throws(LinuxError) {
        let path = "\(directory.path)/\(name)".withoutSpareRoom
        let receiveBuffer: Int32 = 8 << 20
        guard path.utf8.count <= wd_socket_longest_name else {
            var generator = SystemRandomNumberGenerator()
            let unguessable = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            address = "@watchdogd-\(getpid())-\(unguessable)"
            descriptor = try Self.bind(address, receiveBuffer)
            return
        }
        address = path
        do throws(LinuxError) {
            descriptor = try Self.bind(path, receiveBuffer)
        } catch  where error.errno == .addressInUse {
            // An earlier watchdogd left it.
            unlink(path)
            descriptor = try Self.bind(path, receiveBuffer)
        }
        let mode: mode_t = user == nil ? 0o666 : 0o600
        _ = try check("set the mode of \(path)") { chmod(path, mode) }
        if let user, user != geteuid() {
            _ = try check("give \(path) to user \(user)") { chown(path, user, gid_t.max) }
        }
    }

    /// Takes ownership of a socket that is already bound, for example one that a service manager kept.
    ///
    /// Nil if it is not bound to this address.
    public init?(_ descriptor: OwnedDescriptor, boundTo address: String) {
        guard DescriptorKind(of: descriptor) == .notifySocket(address: address) else { return nil }
        self.descriptor = descriptor
        self.address = address
        wd_socket_tell_origin(descriptor.number)
    }

    deinit {
        if !keepsAddress, address.hasPrefix("/") { unlink(address) }
    }

    /// Receives the next message; nil if there is none.
    ///
    /// Never waits.
    public func receive() throws(LinuxError) -> SocketMessage? {
        if case .message(let message) = try SocketMessage.receive(from: descriptor) { message } else { nil }
    }

    /// Passes the next message to `body`, and removes it from the socket afterward; false if there is none.
    ///
    /// If this process is killed before `body` returns, the next owner of the socket receives the message again. `body`
    /// must not receive from the socket. Never waits.
    public func heed(_ body: (SocketMessage) -> Void) throws(LinuxError) -> Bool {
        if case .message = try SocketMessage.heed(from: descriptor, body) { true } else { false }
    }

    private static func bind(_ name: String, _ receiveBuffer: Int32) throws(LinuxError) -> OwnedDescriptor {
        let number = try check("bind socket \(name)") { wd_socket_bind_datagram(name, receiveBuffer) }
        // Closing the socket also closes the descriptors in unread messages.
        return OwnedDescriptor(taking: number, closing: .beside(lane: number))
    }
}
