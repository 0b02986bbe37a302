// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The socket behind `NOTIFY_SOCKET`, sd_notify(3), in a directory of its own.
///
/// Isolation: the loop's thread. The socket's file goes with the object.
public final class NotifySocket {
    /// What `NOTIFY_SOCKET` is to say: a path, or `@` and an abstract name.
    public let address: String
    /// The receiving end, non-blocking.
    public let descriptor: OwnedDescriptor
    private let directory: String?

    /// Creates a socket that processes of `user` can send to.
    ///
    /// The directory is made in `$XDG_RUNTIME_DIR` unless the app's user is another, else in `/run` for root,
    /// else in `$TMPDIR` or `/tmp`. Where the path would be too long for unix(7) the name is abstract.
    ///
    /// - Parameter user: the app's user id, when it is not the supervisor's.
    public convenience init(for user: UInt32?) throws(LinuxError) {
        let isForeign = user.map { $0 != geteuid() } ?? false
        try self.init(for: user, in: Self.base(isForeign: isForeign))
    }

    init(for user: UInt32?, in base: String) throws(LinuxError) {
        let made = try Self.makeDirectory(in: base)
        let path = "\(made)/notify"
        let bound = path.withCString { wd_bind_datagram($0, strlen($0)) }
        if bound >= 0 {
            descriptor = OwnedDescriptor(taking: bound)
            directory = made
            address = path
            try Self.admit(user, to: path, in: made)
            return
        }
        let error = Errno.current
        rmdir(made)
        guard error == .nameTooLong else { throw LinuxError("bind the notify socket \(path)", error) }
        let name = "watchdogd-" + String(UInt64.random(in: .min ... .max), radix: 16)
        let bytes = [CChar(0)] + name.utf8.map { CChar(bitPattern: $0) }
        let abstract = try check("bind the notify socket @\(name)") { wd_bind_datagram(bytes, bytes.count) }
        descriptor = OwnedDescriptor(taking: abstract)
        directory = nil
        address = "@\(name)"
    }

    deinit {
        guard let directory else { return }
        unlink(address)
        rmdir(directory)
    }

    /// Reads one message without blocking; nil when none is there.
    public func receive() throws(LinuxError) -> Datagram? {
        try Datagram.receive(from: descriptor.number)
    }

    /// Another user cannot pass through our runtime directory.
    private static func base(isForeign: Bool) -> String {
        let environment = Environment.inherited
        if !isForeign, let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") { return directory }
        if geteuid() == 0, access("/run", W_OK) == 0 { return "/run" }
        return environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
    }

    private static func makeDirectory(in base: String) throws(LinuxError) -> String {
        var template = Array("\(base)/watchdogd-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw LinuxError("create a directory for the notify socket in \(base)", .current)
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// mkdtemp(3) makes the directory for us alone: another user may pass, and owns the socket.
    private static func admit(_ user: UInt32?, to path: String, in directory: String) throws(LinuxError) {
        _ = try check("set the mode of \(path)") { chmod(path, 0o600) }
        guard let user, user != geteuid() else { return }
        _ = try check("set the mode of \(directory)") { chmod(directory, 0o711) }
        _ = try check("change the owner of \(path)") { lchown(path, user, .max) }
    }
}
