// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The socket to which apps send sd_notify(3) messages.
///
/// Every user may send to it, because a program may change its user before it reports. Each message names its sender,
/// whom the receiver judges. Each app has its own socket, so that one app's flood does not affect the others.
public final class NotifySocket {
    /// Readable when a message has arrived.
    public let descriptor: OwnedDescriptor
    /// The value for the app's `NOTIFY_SOCKET`: a path, or an abstract name with `@` in place of the NUL.
    public let address: String
    /// Whether to keep the path when this object is released, for a new owner of the descriptor.
    public var keepsAddress = false
    /// The folder of the address, if other sockets share it.
    private let folder: HeldFolder?

    /// Binds a socket in a directory, or to an abstract name if the path is too long for a socket.
    ///
    /// The address ends with a random number. A directory that others can enter but not list keeps it from everyone
    /// who does not know the app's environment. An abstract name is visible to all users.
    ///
    /// - Parameters:
    ///   - directory: Where to bind the socket; its path is removed when this object is released.
    ///   - name: The beginning of the file's name.
    public convenience init(in directory: RuntimeDirectory, name: String) throws(LinuxError) {
        var generator = SystemRandomNumberGenerator()
        let unguessable = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
        let path = "\(directory.path)/\(name)\(Self.separator)\(unguessable)"
        let isShort = path.utf8.count <= wd_socket_longest_name
        try self.init(
            address: isShort ? path : "@watchdogd-\(getpid())-\(unguessable)", in: isShort ? directory.folder : nil)
    }

    /// Binds a socket at the address of an earlier one, which is gone.
    public convenience init(address: String) throws(LinuxError) { try self.init(address: address, in: nil) }

    private init(address: String, in folder: HeldFolder?) throws(LinuxError) {
        let receiveBuffer: Int32 = 8 << 20
        self.address = address.withoutSpareRoom
        self.folder = folder
        guard address.hasPrefix("/") else {
            descriptor = try Self.bind(address, receiveBuffer)
            return
        }
        let path = Self.boundPath(of: address)
        let place = try Self.place(of: path, in: folder)
        do throws(LinuxError) {
            descriptor = try Self.bind(path, receiveBuffer)
        } catch  where error.errno == .addressInUse {
            // An earlier watchdogd left it.
            place.remove()
            descriptor = try Self.bind(path, receiveBuffer)
        }
        let name = Self.name(in: address)
        do throws(LinuxError) {
            let file = try Self.file(at: place)
            // /proc/net/unix shows everyone the path that was bound, but not what it was renamed to: unix(7).
            if path != address { _ = try check("rename \(path)") { place.rename(to: name) } }
            // chmod(2) of a descriptor that was opened only as a path.
            _ = try check("set the mode of \(address)") { chmod("/proc/self/fd/\(file.number)", 0o666) }
        } catch {
            place.remove()
            unlinkat(place.folder, name, 0)
            throw error
        }
    }

    private static func place(of path: String, in folder: HeldFolder?) throws(LinuxError) -> FilePlace {
        if let folder { try folder.place(of: name(in: path)) } else { try FilePlace(path) }
    }

    private static func name(in path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }

    /// The socket that was bound in a folder, and not what somebody else has put there instead.
    private static func file(at place: FilePlace) throws(LinuxError) -> OwnedDescriptor {
        let file = OwnedDescriptor(
            taking: try check("find \(place.path)") {
                openat(place.folder, place.name, wd_open_path | O_NOFOLLOW | O_CLOEXEC)
            })
        var status = stat()
        _ = try check("examine \(place.path)") { fstat(file.number, &status) }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
            throw LinuxError("use the socket \(place.path), which somebody has replaced", .notPermitted)
        }
        return file
    }

    /// Whether ``init(in:name:)`` could have chosen an address, or an earlier version.
    ///
    /// What a process says of its address may be the path of any file, which binding it would replace.
    public static func canHave(_ address: String, in directory: RuntimeDirectory, name: String) -> Bool {
        let path = "\(directory.path)/\(name)"
        guard address.hasPrefix("/") else { return address.hasPrefix("@watchdogd-") }
        guard address != path else { return true }
        guard address.hasPrefix("\(path)\(separator)") else { return false }
        let number = address.dropFirst(path.count + 1)
        return !number.isEmpty && number.count <= 16 && number.allSatisfy { $0.isASCII && $0.isHexDigit }
    }

    /// The path that is bound before it is renamed; addresses of earlier versions were not renamed.
    private static func boundPath(of address: String) -> String {
        let name = address[(address.lastIndex(of: "/") ?? address.startIndex)...]
        return name.lastIndex(of: separator).map { String(address[..<$0]) } ?? address
    }

    /// Takes ownership of a socket that is already bound, for example one that a service manager kept.
    ///
    /// Nil if it is not bound to this address.
    public init?(_ descriptor: OwnedDescriptor, boundTo address: String) {
        guard case .notifySocket(let bound) = DescriptorKind(of: descriptor), !address.isEmpty,
            bound == address || address.hasPrefix("/") && bound == Self.boundPath(of: address)
        else { return nil }
        self.descriptor = descriptor
        self.address = address
        folder = nil
        guard wd_socket_tell_origin(descriptor.number) == 0 else { return nil }
        wd_socket_tell_no_pidfds(descriptor.number)
    }

    deinit {
        if !keepsAddress, address.hasPrefix("/") { _ = try? Self.place(of: address, in: folder).remove() }
    }

    /// Receives the next message; nil if there is none.
    ///
    /// Only for messages of programs that the caller runs for its own user: descriptors that come with a message are closed
    /// here. Otherwise never waits.
    public func receive() throws(LinuxError) -> SocketMessage? {
        if case .message(let message) = try SocketMessage.receive(from: descriptor) { message } else { nil }
    }

    /// The same with the descriptors that came with the message, as a service manager receives it.
    package func receiveAll() throws(LinuxError) -> (message: SocketMessage, descriptors: [OwnedDescriptor])? {
        var passed: [OwnedDescriptor] = []
        let reception = try SocketMessage.receive(from: descriptor) { passed = $0 }
        return if case .message(let message) = reception { (message, passed) } else { nil }
    }

    /// Passes the next message to `body`, and removes it from the socket afterward; nil if there is none.
    ///
    /// A message with descriptors stays, and must be removed by a ``Closer`` before the socket is read again. If this process
    /// is killed before `body` returns, the next owner of the socket receives the message again. `body` must not receive
    /// from the socket. Never waits.
    ///
    /// - Parameter isKnown: whether the sender is known anyway, so that the message needs no ``SocketMessage/sender``.
    public func heed(
        _ isKnown: (SocketMessage) -> Bool = { _ in false }, _ body: (SocketMessage) -> Void
    ) throws(LinuxError) -> SocketMessage? {
        let reception = try SocketMessage.heed(from: descriptor, WD_ORIGIN_AGE, identifiesUnless: isKnown, body)
        return if case .message(let message) = reception { message } else { nil }
    }

    /// Passes the messages behind the first one to `body`, which all stay in the socket.
    ///
    /// Their senders are not known by pidfd. None may be removed meanwhile. Never waits.
    ///
    /// - Parameter limit: the maximum number of messages.
    public func lookBehindFirst(atMost limit: Int, _ body: (SocketMessage) -> Void) {
        guard wd_socket_peek_from(descriptor.number, 0) == 0 else { return }
        defer { _ = wd_socket_peek_from(descriptor.number, -1) }
        var count = 0
        var isRest = false
        while count <= limit, case .message(let message)? = try? SocketMessage.peek(from: descriptor, WD_ORIGIN_AGE) {
            // What did not fit comes next, as if it were a message.
            if !isRest {
                if count > 0 { body(message) }
                count += 1
            }
            isRest = message.isTruncated
        }
    }

    /// Stands between the path that was bound and the random number.
    private static let separator: Character = "."

    private static func bind(_ name: String, _ receiveBuffer: Int32) throws(LinuxError) -> OwnedDescriptor {
        OwnedDescriptor(taking: try check("bind socket \(name)") { wd_socket_bind_datagram(name, receiveBuffer) })
    }
}
