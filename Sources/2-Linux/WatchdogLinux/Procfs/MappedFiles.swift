// SPDX-License-Identifier: Apache-2.0

/// The files that a process maps: proc_pid_maps(5).
public enum MappedFiles {
    /// The most bytes that are read of a process's list.
    private static let limit = 8 << 20

    /// The paths of the files, each once; empty if the process is gone or may not be read.
    ///
    /// Deleted files, and those without a path, are left out.
    public static func paths(of pid: Int32) -> Set<String> {
        var paths: Set<String> = []
        for line in (Procfs.read("/proc/\(pid)/maps", limit: limit) ?? []).split(separator: UInt8(ascii: "\n")) {
            if let path = path(in: line) { paths.insert(path) }
        }
        return paths
    }

    static func path(in line: ArraySlice<UInt8>) -> String? {
        // Address, permissions, offset, device, inode; the kernel escapes newlines only.
        guard let slash = line.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let path = String(decoding: line[slash...], as: UTF8.self)
        guard line[..<slash].split(separator: UInt8(ascii: " ")).count == 5, !path.hasSuffix(" (deleted)") else {
            return nil
        }
        return path
    }
}
