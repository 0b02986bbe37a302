// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What decides whether one process may read another one: the rule of ptrace(2), without Yama's, which follows the family and not
/// the user.
struct TraceRights: Hashable {
    /// The real, effective and saved user IDs.
    let users: [UInt32]
    /// The real, effective and saved group IDs.
    let groups: [UInt32]
    /// The capabilities that it may use.
    let capabilities: UInt64
    /// Whether the kernel lets its user read it, which it does not after a change of user: PR_SET_DUMPABLE(2const).
    let isReadable: Bool

    /// Reads a process's rights; nil if it is gone.
    init?(_ process: Int32) {
        guard let status = Procfs.read("/proc/\(process)/status", limit: 16 << 10) else { return nil }
        var owner = stat()
        guard stat("/proc/\(process)/fd", &owner) == 0 else { return nil }
        self.init(parsing: status, owner: owner.st_uid)
    }

    /// Reads the lines of a `status` file: proc_pid_status(5); nil if one is missing.
    ///
    /// - Parameter owner: the owner of the process's files, who is root if it is not dumpable.
    init?(parsing status: some Collection<UInt8>, owner: UInt32) {
        var (users, groups): ([UInt32], [UInt32]) = ([], [])
        var capabilities: UInt64?
        for line in status.split(separator: UInt8(ascii: "\n")) {
            let words = line.split { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: " ") }
            guard let name = words.first else { continue }
            if name.elementsEqual("Uid:".utf8) {
                users = words.dropFirst().prefix(3).compactMap { UInt32(decimal: $0) }
            } else if name.elementsEqual("Gid:".utf8) {
                groups = words.dropFirst().prefix(3).compactMap { UInt32(decimal: $0) }
            } else if name.elementsEqual("CapPrm:".utf8), words.count == 2 {
                capabilities = UInt64(String(decoding: words[1], as: UTF8.self), radix: 16)
            }
        }
        guard users.count == 3, groups.count == 3, let capabilities else { return nil }
        self.users = users
        self.groups = groups
        self.capabilities = capabilities
        isReadable = owner == users[1]
    }

    /// Whether a process with these rights may read one with others.
    func mayRead(_ other: TraceRights) -> Bool {
        // Reports about root's programs are root's.
        if users[1] == 0 { return true }
        return other.isReadable && other.users.allSatisfy { $0 == users[1] }
            && other.groups.allSatisfy { $0 == groups[1] } && other.capabilities & ~capabilities == 0
    }
}
