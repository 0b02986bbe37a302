// SPDX-License-Identifier: Apache-2.0

import CSampleSQLite
import Glibc

/// A library of pages in a SQLite database.
///
/// Isolation: one thread at a time.
final class Library: @unchecked Sendable {
    // SAFETY: SQLite's default build is serialized, so any thread may use the connection.
    private let connection: OpaquePointer
    private let temporaryPath: String?

    /// Opens the database at a path, or a temporary one in a new file.
    init(path: String?) {
        var path = path
        if path == nil {
            let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
            var template = Array("\(folder)/BackgroundSaver-XXXXXX".utf8CString)
            let file = mkstemp(&template)
            guard file >= 0 else { fail("cannot make a file in \(folder): \(String(cString: strerror(errno)))") }
            // Qualified, because the method close() of this class shadows the function.
            _ = Glibc.close(file)
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            temporaryPath = path
        } else {
            temporaryPath = nil
        }
        var connection: OpaquePointer?
        let result = sqlite3_open(path ?? "", &connection)
        guard result == SQLITE_OK, let connection else {
            fail("cannot open \(path ?? "the database"): \(String(cString: sqlite3_errstr(result)))")
        }
        self.connection = connection
        run("CREATE TABLE IF NOT EXISTS pages (number INTEGER PRIMARY KEY, text TEXT)")
    }

    func save(page: Int) {
        run("INSERT OR REPLACE INTO pages VALUES (\(page), hex(randomblob(512)))")
    }

    /// Begins a write transaction, which locks the file until ``unlock()``.
    func lock() {
        run("BEGIN EXCLUSIVE")
    }

    /// Ends the transaction.
    func unlock() {
        run("COMMIT")
    }

    /// Closes the database and removes a temporary one.
    func close() {
        sqlite3_close(connection)
        guard let temporaryPath else { return }
        unlink(temporaryPath)
        unlink("\(temporaryPath)-journal")
    }

    private func run(_ statement: String) {
        let result = sqlite3_exec(connection, statement, nil, nil, nil)
        guard result == SQLITE_OK else {
            let problem = String(cString: sqlite3_errmsg(connection))
            let line = "BackgroundSaver: \(statement.prefix { $0 != " " }): \(problem)\n"
            write(STDERR_FILENO, line, line.utf8.count)
            exit(74)
        }
    }
}
