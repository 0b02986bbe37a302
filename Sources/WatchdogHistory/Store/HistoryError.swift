// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// Why the history cannot be read or written.
public struct HistoryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable {
        /// There is no history yet.
        case notFound
        /// This user may not read it.
        case notReadable
        /// It is damaged, or no database at all.
        case damaged
        /// It is the database of another program.
        case foreign
        /// A later watchdogd wrote it, with more than this one knows.
        case newer
        /// There is no space left.
        case full
        /// Another failure.
        case failed
    }

    /// What kind of failure.
    public let code: Code
    /// What was attempted, and why it failed.
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// The last failure of a connection.
    init(_ path: String, _ connection: OpaquePointer?, _ result: Int32) {
        let reason = connection.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(result))
        let code: Code =
            switch result & 0xFF {
            case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
            case SQLITE_FULL: .full
            case SQLITE_PERM, SQLITE_AUTH: .notReadable
            default: .failed
            }
        self.init(code, "\(path): \(reason)")
    }
}
