// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The user of one run of a helper: one that no other process has, so that only root may trace, signal or limit the helper,
/// or read what it holds.
///
/// The number comes from the range that systemd uses for its dynamic users, and is reserved the same way: by a lock on
/// a file, which is removed with this object. Without systemd, or if it may not write there, there is no lock.
///
/// Isolation: immutable; may be used from any thread.
public final class ReservedUser: Sendable {
    /// `DynamicUser=` in systemd.exec(5).
    public static let range: ClosedRange<UInt32> = 61184...65519
    private static let nobody: UInt32 = 65534
    private static let attempts = 64

    /// The user, and the group with the same number.
    public let credentials: Credentials
    /// Whether no other process has this user.
    public var isExclusive: Bool { credentials.user != Self.nobody }
    private let lock: Lock?

    /// A reserved user if this process is root and may change users; nil to keep this process's own.
    ///
    /// In a user namespace without the range, it is `nobody`, or nil if that is missing, too. Root that keeps its own
    /// user has to give up its capabilities.
    public static func reserved() -> ReservedUser? {
        if let user = exclusive() { return user }
        guard geteuid() == 0, Credentials.canBeChanged else { return nil }
        return UserNamespace.knows(user: nobody, group: nobody) ? ReservedUser(nobody, lock: nil) : nil
    }

    /// A reserved user that no other process has; nil without the rights or a user namespace for it.
    static func exclusive() -> ReservedUser? {
        guard geteuid() == 0, Credentials.canBeChanged else { return nil }
        // Those of processes that were killed first, so that their files do not pile up.
        let candidates = Lock.left.prefix(attempts) + (0..<attempts).map { _ in UInt32.random(in: range) }
        for candidate in candidates {
            if let user = ReservedUser(reserving: candidate) { return user }
        }
        return nil
    }

    /// Reserves a user; nil if it is in use.
    public convenience init?(reserving id: UInt32) {
        guard UserNamespace.knows(user: id, group: id) else { return nil }
        let lock: Lock?
        switch Lock.take(id) {
        case .taken(let taken): lock = taken
        case .impossible: lock = nil
        case .held: return nil
        }
        guard !Self.hasProcesses(id) else { return nil }
        self.init(id, lock: lock)
    }

    private init(_ id: UInt32, lock: Lock?) {
        credentials = Credentials(user: id, group: id)
        self.lock = lock
    }

    /// getpriority(2) finds out with one call.
    private static func hasProcesses(_ id: UInt32) -> Bool {
        errno = 0
        return !(getpriority(__priority_which_t(PRIO_USER.rawValue), id) == -1 && errno == ESRCH)
    }
}

extension ReservedUser {
    /// systemd's lock of a dynamic user.
    private final class Lock: Sendable {
        enum Result {
            case taken(Lock)
            /// Somebody else has it.
            case held
            /// There is no folder for it.
            case impossible
        }

        private static let folder = "/run/systemd/dynamic-uid"

        private let path: String
        private let file: OwnedDescriptor

        private init(_ path: String, _ file: OwnedDescriptor) {
            self.path = path
            self.file = file
        }

        /// Removed before it is unlocked, so that nobody locks a file that is about to go.
        deinit { unlink(path) }

        /// The users whose files are there, locked or not.
        static var left: [UInt32] {
            Procfs.numbers(in: folder).map { UInt32($0) }.filter { range.contains($0) }
        }

        static func take(_ id: UInt32) -> Result {
            mkdir(folder, 0o755)
            let path = "\(folder)/\(id)"
            let number = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0o600)
            guard number >= 0 else { return access(path, F_OK) == 0 ? .held : .impossible }
            let file = OwnedDescriptor(taking: number)
            var status = stat()
            guard flock(number, LOCK_EX | LOCK_NB) == 0, fstat(number, &status) == 0, status.st_nlink > 0 else {
                return .held
            }
            return .taken(Lock(path, file))
        }
    }
}

/// This process's user namespace: user_namespaces(7).
enum UserNamespace {
    /// Whether both IDs are mapped here; a container of an unprivileged user often has only one of each.
    static func knows(user: UInt32, group: UInt32) -> Bool {
        maps("/proc/self/uid_map", user) && maps("/proc/self/gid_map", group)
    }

    private static func maps(_ path: String, _ id: UInt32) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return true }
        defer { close(file) }
        let text = [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
        return text.split(separator: UInt8(ascii: "\n")).contains { line in
            let words = line.split(separator: UInt8(ascii: " ")).map { UInt64(String(decoding: $0, as: UTF8.self)) }
            guard words.count == 3, let first = words[0], let count = words[2] else { return false }
            return id >= first && UInt64(id) - first < count
        }
    }
}
