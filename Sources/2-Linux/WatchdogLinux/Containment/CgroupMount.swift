// SPDX-License-Identifier: Apache-2.0

/// A mounted cgroup hierarchy, and how the kernel's cgroup paths map to its directories.
struct CgroupMount: Hashable, Sendable {
    /// The mount point.
    let directory: String
    /// The cgroup that is mounted there: `/`, unless only a part of the hierarchy is mounted.
    let root: String
    /// Nil for the unified hierarchy, otherwise the controllers of a version 1 hierarchy.
    let controllers: Set<String>?

    var isUnified: Bool { controllers == nil }

    /// The mounts listed in a `mountinfo` file: proc_pid_mountinfo(5).
    static func parse(mountinfo text: some StringProtocol) -> [CgroupMount] {
        text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count > dash + 3 else { return nil }
            let root = unescape(fields[3])
            let directory = unescape(fields[4])
            switch fields[dash + 1] {
            case "cgroup2":
                return CgroupMount(directory: directory, root: root, controllers: nil)
            case "cgroup":
                let options = fields[dash + 3].split(separator: ",").map { String($0) }
                return CgroupMount(directory: directory, root: root, controllers: Set(options))
            default:
                return nil
            }
        }
    }

    /// The mounts of this process.
    static func all() -> [CgroupMount] {
        let bytes = Procfs.read("/proc/self/mountinfo", limit: 8 << 20) ?? []
        return parse(mountinfo: String(decoding: bytes, as: UTF8.self))
    }

    /// The directory of a cgroup; nil if it lies outside the mount.
    func directory(of cgroup: String) -> String? {
        // A path outside the cgroup namespace begins with "/..": cgroup_namespaces(7).
        guard cgroup.hasPrefix("/"), !cgroup.split(separator: "/").contains("..") else { return nil }
        guard root != "/" else { return cgroup == "/" ? directory : directory + cgroup }
        if cgroup == root { return directory }
        guard cgroup.hasPrefix(root + "/") else { return nil }
        return directory + cgroup.dropFirst(root.count)
    }

    /// The cgroup of a directory; nil if it lies outside the mount.
    func cgroup(at path: String) -> String? {
        guard path.hasPrefix(directory + "/") else { return nil }
        return (root == "/" ? "" : root) + path.dropFirst(directory.count)
    }

    /// The cgroup of a process in this hierarchy, from its `/proc/PID/cgroup`: cgroups(7).
    func cgroup(in membership: some StringProtocol) -> String? {
        for line in membership.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let names = fields[1].split(separator: ",")
            let belongs = controllers.map { own in !names.isEmpty && names.allSatisfy { own.contains(String($0)) } }
            if belongs ?? (fields[0] == "0" && fields[1].isEmpty) { return String(fields[2]) }
        }
        return nil
    }

    /// Decodes octal escapes of spaces, tabs, newlines and backslashes: `\040`.
    static func unescape(_ field: some StringProtocol) -> String {
        guard field.utf8.contains(UInt8(ascii: "\\")) else { return String(field) }
        let bytes = Array(field.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let digits = bytes[index...].dropFirst().prefix(3)
            if bytes[index] == UInt8(ascii: "\\"), digits.count == 3,
                let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                result.append(code)
                index += 4
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
