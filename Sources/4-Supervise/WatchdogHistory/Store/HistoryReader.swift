// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc
import WatchdogBase

/// Reads the history, concurrently with a daemon that writes it.
///
/// Isolation: one thread at a time. Every call may block on the disk.
public final class HistoryReader {
    let connection: Connection

    /// Opens an existing history for reading.
    ///
    /// - Throws: ``HistoryError``: `notFound`, `notReadable`, `damaged`, `foreign` or `newer`.
    public init(path: String) throws(HistoryError) {
        guard access(path, R_OK) == 0 else {
            let isMissing = errno == ENOENT || errno == ENOTDIR
            throw HistoryError(
                isMissing ? .notFound : .notReadable,
                isMissing
                    ? "there is no launch history at \(path) yet; 'watchdogd serve' writes it, and --history FILE reads another"
                    : "cannot read \(path): \(String(cString: strerror(errno))); only root and its group may read it")
        }
        var status = stat()
        // Reject a FIFO: SQLite would block until it has a writer.
        guard stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw HistoryError(.damaged, "\(path) is not a regular file")
        }
        connection = try Self.open(path)
    }

    private static func open(_ path: String) throws(HistoryError) -> Connection {
        do throws(HistoryError) {
            let connection = try Connection(path, flags: SQLITE_OPEN_READONLY, patience: .seconds(2))
            try HistorySchema.check(connection)
            return connection
        } catch  where error.code == .failed && access("\(path)-wal", F_OK) != 0 {
            // Without a writer, SQLite's shared-memory file does not exist, and a reader without write permission
            // cannot create it. But then no process changes the file, so it can be opened as immutable.
            let allowed = Set("/-._~".utf8)
            let escaped = path.utf8.map { byte in
                allowed.contains(byte) || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte)
                    ? String(UnicodeScalar(byte)) : "%" + UInt64(byte).hexadecimal(width: 2).suffix(2)
            }.joined()
            let connection = try Connection(
                path, uri: "file:\(escaped)?immutable=1", flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                patience: .zero)
            try HistorySchema.check(connection)
            return connection
        }
    }

    /// The names of all apps in the history, in ascending order.
    public func apps() throws(HistoryError) -> [String] {
        var names: [String] = []
        try connection.run("SELECT name FROM app ORDER BY name") { names.append($0.text(0)) }
        return names
    }
}
