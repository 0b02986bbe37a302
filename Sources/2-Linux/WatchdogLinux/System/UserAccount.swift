// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An account in the system's user database.
public struct UserAccount: Hashable, Sendable {
    /// A user or group that does not exist, or could not be looked up.
    public struct LookupError: Error, Hashable, Sendable, CustomStringConvertible {
        /// "user 'www' does not exist".
        public let description: String
    }

    /// The login name.
    public let name: String
    /// The user's IDs, including supplementary groups.
    public private(set) var credentials: Credentials
    /// The home directory.
    public let home: String
    /// The login shell.
    public let shell: String

    /// Looks up a user by name or number, which may query servers on the network and block until they answer.
    ///
    /// - Parameters:
    ///   - user: A name or number. A number does not require an account, but then a group must be given.
    ///   - group: A name or number that replaces the account's own group; nil to keep that.
    ///   - supplementaryGroups: Names or numbers, in addition to those of the account.
    public static func find(
        user: String, group: String? = nil, supplementaryGroups: [String]
    ) throws(LookupError) -> UserAccount {
        var account = try find(user: user, group: group)
        for group in supplementaryGroups {
            let number = try Self.number(ofGroup: group)
            if !account.credentials.supplementaryGroups.contains(number) {
                account.credentials.supplementaryGroups.append(number)
            }
        }
        return account
    }

    /// Looks up a user by name or number, which may query servers on the network and block until they answer.
    ///
    /// - Parameters:
    ///   - user: A name or number. A number does not require an account, but then a group must be given.
    ///   - group: A name or number that replaces the account's own group; nil to keep that.
    public static func find(user: String, group: String? = nil) throws(LookupError) -> UserAccount {
        let groupNumber = try group.map { (group) throws(LookupError) in try Self.number(ofGroup: group) }
        let number = UInt32(decimal: user.utf8)
        let record = try PasswordRecord.find(name: user, number: number)
        guard let record else {
            guard let number, number != .max else { throw LookupError(description: "user '\(user)' does not exist") }
            guard let groupNumber else {
                throw LookupError(description: "user \(number) has no account, so that its group has to be given")
            }
            return UserAccount(
                name: user,
                credentials: Credentials(user: number, group: groupNumber),
                home: "/",
                shell: "/bin/sh"
            )
        }
        let primary = groupNumber ?? record.group
        return UserAccount(
            name: record.name,
            credentials: Credentials(
                user: record.user,
                group: primary,
                supplementaryGroups: supplementaryGroups(of: record.name, primary: primary)
            ),
            home: record.home.isEmpty ? "/" : record.home,
            shell: record.shell.isEmpty ? "/bin/sh" : record.shell
        )
    }

    private static func supplementaryGroups(of name: String, primary: UInt32) -> [UInt32] {
        var capacity: Int32 = 64
        while true {
            var groups = [gid_t](repeating: 0, count: Int(capacity))
            var count = capacity
            if getgrouplist(name, primary, &groups, &count) >= 0 { return Array(groups.prefix(Int(count))) }
            // NGROUPS_MAX: the kernel accepts no more.
            guard count > capacity, capacity < 65536 else { return Array(groups.prefix(Int(capacity))) }
            capacity = min(count, 65536)
        }
    }

    private static func number(ofGroup group: String) throws(LookupError) -> UInt32 {
        if let number = UInt32(decimal: group.utf8), number != .max { return number }
        var record = Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        let error = withLookupBuffer { getgrnam_r(group, &record, $0, $1, &found) }
        guard error == 0 || error == ENOENT else {
            throw LookupError(description: "cannot look up group '\(group)': \(Errno(rawValue: error))")
        }
        guard found != nil else { throw LookupError(description: "group '\(group)' does not exist") }
        return record.gr_gid
    }
}

/// The fields of a `passwd` entry that are used.
private struct PasswordRecord {
    let name: String
    let user: UInt32
    let group: UInt32
    let home: String
    let shell: String

    static func find(name: String, number: UInt32?) throws(UserAccount.LookupError) -> PasswordRecord? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var record: PasswordRecord?
        let error = withLookupBuffer { buffer, size in
            let error =
                number.map { getpwuid_r($0, &entry, buffer, size, &found) }
                ?? getpwnam_r(name, &entry, buffer, size, &found)
            // The entry's strings point into the buffer, so copy them now.
            if error == 0, found != nil { record = PasswordRecord(entry) }
            return error
        }
        // Depending on the database, a missing entry is reported as 0 or as one of these: getpwnam(3).
        guard [0, ENOENT, ESRCH, EBADF, EPERM].contains(error) else {
            throw UserAccount.LookupError(description: "cannot look up user '\(name)': \(Errno(rawValue: error))")
        }
        return record
    }

    private init(_ entry: passwd) {
        func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
        name = text(entry.pw_name)
        user = entry.pw_uid
        group = entry.pw_gid
        home = text(entry.pw_dir)
        shell = text(entry.pw_shell)
    }
}

/// Calls a `…_r` function with growing buffers until the entry fits.
private func withLookupBuffer(_ body: (UnsafeMutablePointer<CChar>, Int) -> Int32) -> Int32 {
    var size = 4096
    while true {
        let error = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
            buffer.baseAddress.map { body($0, buffer.count) } ?? ENOMEM
        }
        guard error == ERANGE, size < 4 << 20 else { return error }
        size *= 4
    }
}
