// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A line of `/proc/PID/mountinfo`: proc_pid_mountinfo(5).
struct MountPoint: Hashable {
    /// Where it is mounted, with the kernel's escapes decoded.
    let directory: String
    /// The type of its file system, such as `nfs4` or `fuse.sshfs`.
    let type: String
    /// The address of its server, such as `files:/export` or `//files/share`; nil if the source is not an address.
    let server: String?
    /// The number of its device in the form of `fuse_connection`, proc_pid_fdinfo(5): without a major number, the minor one.
    let device: UInt32?

    /// Types whose answers come from another process or machine, besides those of FUSE.
    private static let served: Set<String> = [
        "9p", "afs", "autofs", "ceph", "cifs", "coda", "fuse", "fuseblk", "gfs2", "lustre", "nfs", "nfs4", "ocfs2",
        "orangefs", "smb3", "virtiofs",
    ]

    /// Nil for a line of another form, and if an absolute path does not lead there, as far as its text tells: most
    /// lines are not parsed any further.
    init?(parsing line: some BidirectionalCollection<UInt8>, leadingTo path: String) {
        let space = UInt8(ascii: " ")
        let fields = line.split(separator: space, maxSplits: 5)
        guard fields.count == 6, fields[4].contains(UInt8(ascii: "\\")) || path.utf8.starts(with: fields[4]) else {
            return nil
        }
        let device = fields[2].split(separator: UInt8(ascii: ":")).compactMap { UInt32(decimal: $0) }
        self.device = device.count == 2 ? device[0] << 20 | device[1] & 0xf_ffff : nil
        directory = CgroupMount.unescape(String(decoding: fields[4], as: UTF8.self))
        guard directory == "/" || path == directory || path.hasPrefix(directory + "/") else { return nil }
        // Optional fields end with a dash.
        let rest = fields[5].split(separator: space)
        guard let dash = rest.dropFirst().firstIndex(where: { $0.elementsEqual("-".utf8) }), dash + 1 < rest.count
        else {
            return nil
        }
        type = String(decoding: rest[dash + 1].prefix(64), as: UTF8.self)
        server = dash + 2 < rest.count ? Self.server(String(decoding: rest[dash + 2].prefix(256), as: UTF8.self)) : nil
    }

    /// Without the user, who may have a password; nil if it is not an address or contains blanks, which the kernel escapes.
    private static func server(_ source: String) -> String? {
        guard source.contains(":") || source.hasPrefix("//"), !source.contains("\\"), source.utf8.count < 256 else {
            return nil
        }
        return source.lastIndex(of: "@").map { String(source[source.index(after: $0)...]) } ?? source
    }

    /// `nfs4 files:/export at /mnt`.
    var text: String { "\(type)\(server.map { " \($0)" } ?? "") at \(directory)" }

    /// Whether a process of this machine serves it.
    var isFUSE: Bool { type == "fuse" || type == "fuseblk" || type.hasPrefix("fuse.") }

    /// Whether another process or machine serves it, and may be silent.
    var isServed: Bool { Self.served.contains(type) || type.hasPrefix("fuse.") }
}

/// The mounts that watchdogd sees.
public enum MountTable {
    private static let limit = 1 << 20

    /// Whether a path leads to a file system that another process or machine serves, or may do so: no file system is asked.
    public static func isServed(_ path: String) -> Bool {
        // What ".." leaves is known only to the file system.
        guard path.hasPrefix("/"), !path.split(separator: "/").contains(".."),
            let file = try? OwnedDescriptor(opening: "/proc/self/mountinfo", flags: O_RDONLY)
        else { return true }
        var found: MountPoint?
        var left = limit
        Procfs.forEachLine(file, limit: left) { line in
            // Of two mounts at one place, the later one covers the other.
            if let mount = MountPoint(parsing: line, leadingTo: path),
                mount.directory.utf8.count >= found?.directory.utf8.count ?? 0
            {
                found = mount
            }
            left -= line.count + 1
            return left > 0
        }
        return left <= 0 || found?.isServed ?? true
    }
}
