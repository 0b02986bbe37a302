// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogLinux

/// The socket to which clients connect.
///
/// Isolation: immutable; any thread.
public final class ControlSocket: Sendable {
    /// The reason why a socket cannot be bound.
    public enum BindError: Error, Hashable, Sendable, CustomStringConvertible {
        /// Another watchdogd answers at this path: with this process ID, if known.
        case inUse(path: String, process: Int32?)
        /// The watchdogd of this path does not respond, but may recover.
        case stuck(path: String, reason: String)
        /// The path exists and is not a socket.
        case notASocket(path: String)
        /// The descriptor that was passed is not a listening Unix stream socket.
        case notListening(descriptor: Int32)
        /// A system call failed.
        case failed(LinuxError)

        /// One sentence without a period.
        public var description: String {
            switch self {
            case .inUse(let path, let process):
                "another watchdogd serves \(path)" + (process.map { " (process \($0))" } ?? "")
            case .stuck(let path, let reason): "another watchdogd holds \(path), and \(reason)"
            case .notASocket(let path): "\(path) exists and is not a socket"
            case .notListening(let descriptor): "descriptor \(descriptor) is not a listening Unix stream socket"
            case .failed(let error): error.description
            }
        }
    }

    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64

        init?(path: String) {
            var information = stat()
            guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFSOCK else { return nil }
            device = UInt64(information.st_dev)
            inode = UInt64(information.st_ino)
        }
    }

    /// The listening descriptor, which is passed to the next watchdogd on a restart in place.
    public let descriptor: OwnedDescriptor
    /// The path of the socket; empty if unknown.
    public let path: String
    /// Whether the kernel refuses descriptors that clients pass, even before their connections are accepted: since
    /// Linux 6.16.
    ///
    /// If not, a ``Closer`` must keep the descriptor and those of all connections.
    let refusesDescriptors: Bool
    private let identity: Identity?
    /// Held while the socket exists, so that only one of two starting processes replaces a stale socket.
    private let lock: OwnedDescriptor?

    private init(_ descriptor: OwnedDescriptor, path: String, lock: OwnedDescriptor?, isNew: Bool) {
        self.descriptor = descriptor
        self.path = path
        self.lock = lock
        identity = path.isEmpty ? nil : Identity(path: path)
        // Connections inherit the option, but a connection to an older socket may already contain descriptors.
        refusesDescriptors = wd_socket_refuse_descriptors(descriptor.number) == 0 && isNew
    }

    /// Binds a socket, replacing a stale one, and creates its directory if needed.
    ///
    /// It leaves a file `PATH.lock`.
    ///
    /// - Parameters:
    ///   - path: at most 107 bytes.
    ///   - mode: the mode: 0o666 lets every user connect, 0o600 only this one.
    ///   - replacesOwn: whether this process served the path with a program that it executed before.
    public static func bind(
        path: String, mode: UInt32, replacesOwn: Bool = false
    ) throws(BindError) -> ControlSocket {
        try makeFolder(of: path)
        let lock = try lock("\(path).lock", for: path)
        try removeStale(path, replacesOwn: replacesOwn)
        let number = wd_stream_listen(path, mode)
        guard number >= 0 else { throw .failed(LinuxError("listen at \(path)", Errno(rawValue: errno))) }
        return ControlSocket(OwnedDescriptor(taking: number), path: path, lock: lock, isNew: true)
    }

    /// Takes over a socket bound by the service manager or a previous watchdogd.
    public static func adopt(_ descriptor: OwnedDescriptor) throws(BindError) -> ControlSocket {
        guard wd_stream_is_listening(descriptor.number) else { throw .notListening(descriptor: descriptor.number) }
        let flags = fcntl(descriptor.number, F_GETFL)
        guard flags >= 0, fcntl(descriptor.number, F_SETFL, flags | O_NONBLOCK) == 0,
            fcntl(descriptor.number, F_SETFD, FD_CLOEXEC) == 0
        else { throw .failed(LinuxError("prepare descriptor \(descriptor.number)", Errno(rawValue: errno))) }
        var buffer = [CChar](repeating: 0, count: 128)
        guard wd_stream_path(descriptor.number, &buffer, buffer.count) == 0 else {
            throw .failed(LinuxError("read the path of descriptor \(descriptor.number)", Errno(rawValue: errno)))
        }
        let path = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return ControlSocket(descriptor, path: path, lock: nil, isNew: false)
    }

    /// Removes the socket from the file system, unless another has replaced it.
    ///
    /// Existing connections stay open.
    public func remove() {
        if let identity, Identity(path: path) == identity { unlink(path) }
    }

    private static func makeFolder(of path: String) throws(BindError) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        let folder = String(path[..<slash])
        // All users may search root's directory, regardless of the umask.
        let mode: mode_t = geteuid() == 0 ? 0o711 : 0o700
        if mkdir(folder, 0o700) == 0 {
            // Set the mode through a descriptor: the path may have been replaced in the meantime.
            let made = try? OwnedDescriptor(opening: folder, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
            if let made { fchmod(made.number, mode) }
        } else if errno != EEXIST {
            throw .failed(LinuxError("create \(folder)", Errno(rawValue: errno)))
        }
    }

    private static func lock(_ lockPath: String, for path: String) throws(BindError) -> OwnedDescriptor {
        let file: OwnedDescriptor
        do {
            file = try OwnedDescriptor(opening: lockPath, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        } catch {
            throw .failed(error)
        }
        if try takes(file, lockPath, for: path) { return file }
        // The holder is dead, except for a thread that is stuck in the kernel, which keeps the lock. So a new file
        // replaces the old one. Concurrent starts do that only once, because each takes a flock(2) lock on the old file
        // first.
        guard flock(file.number, LOCK_EX | LOCK_NB) == 0, isAt(lockPath, file), unlink(lockPath) == 0 else {
            throw .inUse(path: path, process: nil)
        }
        return try lock(lockPath, for: path)
    }

    /// Whether a path still names an open file.
    private static func isAt(_ path: String, _ file: OwnedDescriptor) -> Bool {
        var (named, opened) = (stat(), stat())
        return lstat(path, &named) == 0 && fstat(file.number, &opened) == 0 && named.st_ino == opened.st_ino
            && named.st_dev == opened.st_dev
    }

    /// Takes the lock; false if its holder is a dead process.
    private static func takes(
        _ file: OwnedDescriptor, _ lockPath: String, for path: String
    ) throws(BindError) -> Bool {
        // Unlike a flock(2) lock, a record lock ends with the process and is not inherited: a forked child before its
        // execve(2) briefly outlives a killed watchdogd. See fcntl(2).
        var whole = Glibc.flock()
        whole.l_type = Int16(F_WRLCK)
        guard fcntl(file.number, F_SETLK, &whole) == 0 else {
            guard errno == EAGAIN || errno == EACCES else {
                throw .failed(LinuxError("lock \(lockPath)", Errno(rawValue: errno)))
            }
            // Another process may have replaced the file after it was opened here; that process is about to serve.
            guard isAt(lockPath, file), fcntl(file.number, F_GETLK, &whole) == 0, whole.l_type == Int16(F_WRLCK),
                whole.l_pid > 0
            else { throw .inUse(path: path, process: nil) }
            try refuse(whole.l_pid, path)
            return false
        }
        guard isAt(lockPath, file) else { throw .inUse(path: path, process: nil) }
        return true
    }

    /// Throws unless the process with the path is dead.
    private static func refuse(_ process: Int32, _ path: String) throws(BindError) {
        switch ProcessCondition.of(process) {
        case .alive: throw .inUse(path: path, process: process)
        case .stuck(let reason): throw .stuck(path: path, reason: reason)
        case .beyondReturn: break
        }
    }

    private static func removeStale(_ path: String, replacesOwn: Bool) throws(BindError) {
        var information = stat()
        guard lstat(path, &information) == 0 else {
            if errno == ENOENT { return }
            throw .failed(LinuxError("look at \(path)", Errno(rawValue: errno)))
        }
        // Connecting to a regular file is also refused: unix_find_bsd(), net/unix/af_unix.c.
        guard information.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path: path) }
        let connection = wd_stream_connect(path, 0)
        if connection >= 0 {
            try refuseServer(of: OwnedDescriptor(taking: connection), path, replacesOwn)
        } else {
            switch errno {
            case ENOENT: return
            case ECONNREFUSED: break
            // The backlog is full, so a process is listening.
            case EAGAIN: throw .inUse(path: path, process: nil)
            default: throw .failed(LinuxError("find out who serves \(path)", Errno(rawValue: errno)))
            }
        }
        guard unlink(path) == 0 || errno == ENOENT else {
            throw .failed(LinuxError("remove \(path)", Errno(rawValue: errno)))
        }
    }

    /// Throws unless the listening process has exited, and only a child that inherited the socket is left.
    private static func refuseServer(
        of connection: OwnedDescriptor, _ path: String, _ replacesOwn: Bool
    ) throws(BindError) {
        var peer = wd_stream_peer()
        guard wd_stream_peer(connection.number, &peer) == 0, peer.pid > 0 else {
            throw .inUse(path: path, process: nil)
        }
        // The closer's keeper process of the previous program still holds the socket.
        guard !replacesOwn || peer.pid != getpid() else { return }
        if ProcessStat.read(peer.pid) != nil { return try refuse(peer.pid, path) }
        guard kill(peer.pid, 0) != 0, errno == ESRCH else { throw .inUse(path: path, process: peer.pid) }
    }
}
