// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The socket to which apps send sd_notify(3) messages.
///
/// Anybody who can reach it can write to it: each message says who did. One socket per app keeps one app's flood out of
/// the others' way.
public final class NotifySocket {
    /// Readable when a message is there.
    public let descriptor: OwnedDescriptor
    /// For the app's `NOTIFY_SOCKET`: a path, or an abstract name with `@` in place of the NUL.
    public let address: String
    /// Whether the path stays when the object goes, for whoever takes over the descriptor.
    public var keepsAddress = false

    /// Binds a socket in a directory; under an abstract name if the path is too long for a socket.
    ///
    /// - Parameters:
    ///   - directory: Where it is bound; its path is removed when the object goes.
    ///   - name: The file's name.
    ///   - user: The only other user who may send to it; nil lets every user who can enter the directory send.
    ///     Nobody is kept from an abstract name.
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
        unlink(path)
        address = path
        descriptor = try Self.bind(path, receiveBuffer)
        let mode: mode_t = user == nil ? 0o666 : 0o600
        _ = try check("set the mode of \(path)") { chmod(path, mode) }
        if let user, user != geteuid() {
            _ = try check("give \(path) to user \(user)") { chown(path, user, gid_t.max) }
        }
    }

    /// Takes over a socket that is bound already, such as one that a service manager kept.
    ///
    /// Nil when it is not bound to this address.
    public init?(_ descriptor: OwnedDescriptor, boundTo address: String) {
        guard DescriptorKind(of: descriptor) == .notifySocket(address: address) else { return nil }
        self.descriptor = descriptor
        self.address = address
    }

    deinit {
        if !keepsAddress, address.hasPrefix("/") { unlink(address) }
    }

    /// The next message; nil when there is none.
    ///
    /// Never waits.
    public func receive() throws(LinuxError) -> SocketMessage? {
        if case .message(let message) = try SocketMessage.receive(from: descriptor) { message } else { nil }
    }

    /// Hands the next message to `body`, and takes it out of the socket afterwards; false when there is none.
    ///
    /// Should the process be killed before `body` has returned, whoever has the socket then gets the message again.
    /// `body` must not receive from the socket. Never waits.
    public func heed(_ body: (SocketMessage) -> Void) throws(LinuxError) -> Bool {
        if case .message = try SocketMessage.heed(from: descriptor, body) { true } else { false }
    }

    private static func bind(_ name: String, _ receiveBuffer: Int32) throws(LinuxError) -> OwnedDescriptor {
        OwnedDescriptor(taking: try check("bind socket \(name)") { wd_socket_bind_datagram(name, receiveBuffer) })
    }
}
