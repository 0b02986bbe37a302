// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// The reason why the history cannot be read or written.
public struct HistoryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable {
        /// There is no history yet.
        case notFound
        /// This user may not read it.
        case notReadable
        /// It is damaged, or not a database.
        case damaged
        /// It is the database of another program.
        case foreign
        /// A newer watchdogd wrote it, with a schema that this one does not know.
        case newer
        /// The disk is full.
        case full
        /// Another failure.
        case failed
    }

    /// The kind of failure.
    public let code: Code
    /// The attempted operation, and the reason of its failure.
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
