// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An entry of the user database: getpwnam(3).
public struct User: Hashable, Sendable {
    /// The name.
    public let name: String
    /// The ids, with all groups of which the user is a member.
    public let credentials: Credentials
    /// The home directory.
    public let home: String
    /// The login shell.
    public let shell: String

    /// Finds a user by name or by number.
    ///
    /// - Returns: nil when there is no such user. A number without an entry is none: its groups are not known.
    public static func find(_ text: String) -> User? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        // 64 KiB hold any entry that is not meant to harm; longer ones count as absent.
        var buffer = [CChar](repeating: 0, count: 1 << 16)
        let size = buffer.count
        let status =
            if let number = UInt32(text) {
                getpwuid_r(number, &entry, &buffer, size, &result)
            } else {
                getpwnam_r(text, &entry, &buffer, size, &result)
            }
        guard status == 0, result != nil, let name = entry.pw_name else { return nil }
        return User(
            name: String(cString: name),
            credentials: Credentials(
                user: entry.pw_uid,
                group: entry.pw_gid,
                supplementaryGroups: groups(of: name, primary: entry.pw_gid)
            ),
            home: entry.pw_dir.map { String(cString: $0) } ?? "/",
            shell: entry.pw_shell.map { String(cString: $0) } ?? "/bin/sh"
        )
    }

    private static func groups(of name: UnsafePointer<CChar>, primary: UInt32) -> [UInt32] {
        var count: Int32 = 64
        var groups = [gid_t](repeating: 0, count: Int(count))
        while getgrouplist(name, primary, &groups, &count) < 0, count > groups.count, count <= 65_536 {
            groups = [gid_t](repeating: 0, count: Int(count))
        }
        return Array(groups.prefix(Int(max(0, count))))
    }
}
