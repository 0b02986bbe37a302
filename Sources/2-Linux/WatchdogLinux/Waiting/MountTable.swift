// SPDX-License-Identifier: Apache-2.0

import Glibc

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
