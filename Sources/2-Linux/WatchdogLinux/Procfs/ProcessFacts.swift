// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How a process was started, as far as that can be read; the process can change most of it.
public enum ProcessFacts {
    /// The IDs of all visible processes.
    public static var all: [Int32] { Procfs.processes() }

    /// The path of the program file; if the file no longer exists, the kernel appends " (deleted)".
    public static func executable(_ pid: Int32) -> String? {
        SymbolicLink.target("/proc/\(pid)/exe")
    }

    /// The working directory.
    public static func workingDirectory(_ pid: Int32) -> String? {
        SymbolicLink.target("/proc/\(pid)/cwd")
    }

    /// The arguments; empty for a zombie and for a kernel thread.
    ///
    /// - Parameter limit: how many bytes to read.
    public static func arguments(_ pid: Int32, limit: Int = 2 << 20) -> [ByteString] {
        strings(in: Procfs.read("/proc/\(pid)/cmdline", limit: limit) ?? [])
    }

    /// The environment at the time of `execve`; nil if it may not be read.
    public static func environment(_ pid: Int32) -> Environment? {
        guard access("/proc/\(pid)/environ", R_OK) == 0 else { return nil }
        return Environment(entries: strings(in: Procfs.read("/proc/\(pid)/environ", limit: 2 << 20) ?? []))
    }

    /// The cgroup in the unified hierarchy, as seen from this process's cgroup namespace: cgroups(7).
    public static func cgroup(_ pid: Int32) -> String? {
        let text = Procfs.read("/proc/\(pid)/cgroup", limit: 64 << 10) ?? []
        let unified = CgroupMount(directory: "/", root: "/", controllers: nil)
        return unified.cgroup(in: String(decoding: text, as: UTF8.self))
    }

    /// Strings that end with a NUL each.
    static func strings(in contents: [UInt8]) -> [ByteString] {
        let bytes = contents.last == 0 ? contents.dropLast() : contents[...]
        guard !bytes.isEmpty else { return [] }
        return bytes.split(separator: 0, omittingEmptySubsequences: false).map { ByteString(bytes: $0) }
    }
}
