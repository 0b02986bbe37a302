// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The cgroup below the supervisor's own in which the apps' cgroups are created.
///
/// No controller is enabled: freezing, killing and counting need none, and without controllers the rule that only
/// leaves may contain processes does not apply (cgroup-v2, "No Internal Process Constraint").
public struct CgroupParent: Sendable {
    /// Why cgroups are unavailable, worded for the log.
    public struct Unavailable: Error, Hashable, Sendable, CustomStringConvertible {
        /// "no cgroup2 file system is mounted".
        public let description: String
    }

    /// The directory in the cgroup2 file system.
    public let path: String

    /// Creates `watchdogd-NAME` below the calling process's own cgroup.
    ///
    /// Works as root, in a systemd service with `Delegate=yes`, and wherever else the directory may be created.
    ///
    /// - Parameter name: nil for the process ID. The next process finds a name that is not a number again and continues
    ///   to use what is there.
    public static func create(name: String? = nil) throws(Unavailable) -> CgroupParent {
        let membership = Procfs.read("/proc/self/cgroup", limit: 64 << 10) ?? []
        let own = try directory(
            membership: String(decoding: membership, as: UTF8.self),
            mounts: CgroupMount.all()
        )
        let path = "\(own)/watchdogd-\(name ?? "\(getpid())")"
        guard mkdir(path, 0o755) == 0 || Errno.current == .fileExists else {
            throw Unavailable(description: LinuxError("create cgroup \(path)", .current).description)
        }
        return CgroupParent(path: path)
    }

    static func directory(membership: String, mounts: [CgroupMount]) throws(Unavailable) -> String {
        guard let mount = mounts.last(where: \.isUnified) else {
            throw Unavailable(description: "no cgroup2 file system is mounted")
        }
        guard let own = mount.cgroup(in: membership) else {
            throw Unavailable(description: "this process is in no cgroup2 cgroup")
        }
        guard let directory = mount.directory(of: own) else {
            throw Unavailable(description: "cgroup \(own) is outside of what is mounted at \(mount.directory)")
        }
        return directory
    }

    /// Creates an empty cgroup for an app.
    ///
    /// If a cgroup of that name still exists, for example because a process in it cannot be killed, it is left alone,
    /// and the new one gets a number.
    public func create(app: String) throws(LinuxError) -> Cgroup {
        let name = Self.component(app)
        for attempt in 1...64 {
            let directory = attempt == 1 ? "\(path)/\(name)" : "\(path)/\(name)-\(attempt)"
            if mkdir(directory, 0o755) == 0 { return Cgroup(created: directory) }
            let error = Errno.current
            guard error == .fileExists else { throw LinuxError("create cgroup \(directory)", error) }
            // An empty cgroup is left over from an earlier launch.
            if rmdir(directory) == 0, mkdir(directory, 0o755) == 0 { return Cgroup(created: directory) }
        }
        throw LinuxError("create cgroup \(path)/\(name)", .fileExists)
    }

    /// The path of an app's cgroup, whether or not it exists.
    public func path(of app: String) -> String { "\(path)/\(Self.component(app))" }

    /// Removes the empty cgroups in the directory, and the directory itself if none is left.
    public func remove() throws(LinuxError) {
        if let error = Cgroup.removeTree(path) { throw LinuxError("remove cgroup \(path)", error) }
    }

    /// Removes what exited supervisors left behind next to this cgroup, but only empty cgroups.
    public func removeLeftovers() {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
        let prefix = "watchdogd-"
        let own = String(path[..<slash])
        for name in Cgroup.subdirectories(own) where name.hasPrefix(prefix) && path != "\(own)/\(name)" {
            // EPERM: another user's process, which runs.
            guard let pid = Int32(decimal: name.utf8.dropFirst(prefix.utf8.count)), kill(pid, 0) != 0,
                Errno.current == .noSuchProcess
            else { continue }
            Cgroup.removeTree("\(own)/\(name)")
        }
    }

    /// A valid name for one directory that does not collide with the kernel's own files.
    static func component(_ name: String) -> String {
        var bytes = name.utf8.prefix(200).map { byte in
            byte > 0x20 && byte < 0x7f && byte != UInt8(ascii: "/") ? byte : UInt8(ascii: "_")
        }
        if bytes.isEmpty || bytes.first == UInt8(ascii: ".") || bytes.first == UInt8(ascii: "_") {
            bytes.insert(UInt8(ascii: "_"), at: 0)
        }
        // "cgroup.procs", "memory.max" and the like are files: escape such names as systemd does.
        if bytes.contains(UInt8(ascii: ".")), bytes.first != UInt8(ascii: "_") {
            bytes.insert(UInt8(ascii: "_"), at: 0)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
