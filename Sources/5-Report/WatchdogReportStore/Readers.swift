// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// The users who may read a file or folder according to its mode, or that of the nearest accessible parent folder.
struct Readers: CustomStringConvertible {
    private let path: String
    private let status: stat

    /// - Returns: nil if no part of the path is accessible, or if everyone may read it.
    init?(of path: String) {
        var status = stat()
        var path = path
        while stat(path, &status) != 0 {
            guard let slash = path.lastIndex(of: "/"), path != "/" else { return nil }
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
        self.path = path
        self.status = status
        if has(0) { return nil }
    }

    /// Whether a class of users may read, by the position of its bits in the mode; for a folder it also needs search
    /// permission.
    private func has(_ shift: mode_t) -> Bool {
        let needed: mode_t = status.st_mode & S_IFMT == S_IFDIR ? 0o5 : 0o4
        return (status.st_mode >> shift) & needed == needed
    }

    /// The text, as in "/var/log/watchdogd/reports is readable by root and group adm".
    var description: String {
        var readers = ["root"]
        if status.st_uid != 0, has(6) { readers.append("user \(Self.name(ofUser: status.st_uid))") }
        if has(3) { readers.append("group \(Self.name(ofGroup: status.st_gid))") }
        let names = readers.count > 2 ? readers.dropLast().joined(separator: ", ") : readers[0]
        let all = readers.count > 1 ? "\(names) and \(readers[readers.count - 1])" : "\(names) only"
        return "\(path.singleLine(limit: 4_096)) is readable by \(all)"
    }

    private static func name(ofUser number: uid_t) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 << 10) { buffer in
            if let start = buffer.baseAddress { getpwuid_r(number, &entry, start, buffer.count, &found) }
            return (found?.pointee.pw_name).map { String(cString: $0) } ?? "\(number)"
        }
    }

    private static func name(ofGroup number: gid_t) -> String {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 << 10) { buffer in
            if let start = buffer.baseAddress { getgrgid_r(number, &entry, start, buffer.count, &found) }
            return (found?.pointee.gr_name).map { String(cString: $0) } ?? "\(number)"
        }
    }
}
