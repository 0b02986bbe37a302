// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What a process was started as, as far as it may be read; the process can change most of it.
public enum ProcessFacts {
    /// The ids of all processes that can be seen.
    public static var all: [Int32] { Procfs.processes() }

    /// The path of the program file; " (deleted)" is added by the kernel if it is no longer there.
    public static func executable(_ pid: Int32) -> String? {
        link("/proc/\(pid)/exe")
    }

    /// The working directory.
    public static func workingDirectory(_ pid: Int32) -> String? {
        link("/proc/\(pid)/cwd")
    }

    /// The arguments; empty for a zombie and for a kernel thread.
    public static func arguments(_ pid: Int32) -> [ByteString] {
        strings("/proc/\(pid)/cmdline")
    }

    /// The environment at the time of `execve`; nil when it may not be read.
    public static func environment(_ pid: Int32) -> Environment? {
        guard access("/proc/\(pid)/environ", R_OK) == 0 else { return nil }
        return Environment(entries: strings("/proc/\(pid)/environ"))
    }

    /// The cgroup in the unified hierarchy, seen from this process's cgroup namespace: cgroups(7).
    public static func cgroup(_ pid: Int32) -> String? {
        let text = Procfs.read("/proc/\(pid)/cgroup", limit: 64 << 10) ?? []
        let unified = CgroupMount(directory: "/", root: "/", controllers: nil)
        return unified.cgroup(in: String(decoding: text, as: UTF8.self))
    }

    private static func strings(_ path: String) -> [ByteString] {
        var bytes = Procfs.read(path, limit: 2 << 20) ?? []
        if bytes.last == 0 { bytes.removeLast() }
        guard !bytes.isEmpty else { return [] }
        return bytes.split(separator: 0, omittingEmptySubsequences: false).map { ByteString(bytes: $0) }
    }

    static func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let base = buffer.baseAddress else { return nil }
            let length = readlink(path, base, buffer.count)
            guard length > 0 else { return nil }
            return String(decoding: buffer.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
