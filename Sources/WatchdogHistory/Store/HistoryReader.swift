// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc
public import WatchdogBase

/// Reads the history while a daemon may write it.
///
/// Isolation: one thread at a time. Every call may wait for the disk.
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
                    ? "there is no launch history at \(path) yet; 'watchdogd serve' writes it"
                    : "cannot read \(path): \(String(cString: strerror(errno))); only root and its group may read it")
        }
        var status = stat()
        // SQLite would wait for the writer of a FIFO.
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
            // Without a writer there is no shared memory, and who cannot write to the folder cannot create it; but then
            // nobody changes the file either.
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

    /// The names of all apps in the history, sorted.
    public func apps() throws(HistoryError) -> [String] {
        var names: [String] = []
        try connection.run("SELECT name FROM app ORDER BY name") { names.append($0.text(0)) }
        return names
    }

    /// Counts launches by what they have in common.
    ///
    /// Whole days come from the counts of the days, the first part of a day from its launches.
    ///
    /// - Parameters:
    ///   - app: whose launches; nil for those of all apps.
    ///   - since: only launches from here on; nil for all.
    public func launches(
        of app: String?, since: WallTime? = nil, by key: LaunchGroup.Key
    ) throws(HistoryError) -> LaunchSummaryTable {
        var groups: [String: LaunchGroup] = [:]
        func add(_ group: LaunchGroup) {
            if groups[group.label]?.add(group) == nil { groups[group.label] = group }
        }
        let start = since?.microseconds ?? .min
        let isPartial = start > 0 && start % WallTime.dayLength != 0
        let firstDay = since.map { $0.day + (isPartial ? 1 : 0) } ?? .min
        // The index has the app before the day.
        let own = "day.app IN (SELECT id FROM app\(app == nil ? "" : " WHERE name = ?2")) AND "
        let name: [Value] = app.map { [.text($0)] } ?? []
        try connection.run(
            """
            SELECT app.name, build_id, package, package_version, host.name, kind, cause, temperature, count,
            day.first_time, day.last_time, buckets FROM day JOIN app ON app.id = day.app
            JOIN version ON version.id = day.version JOIN host ON host.id = day.host WHERE \(own) day.day >= ?1
            """, [.integer(firstDay)] + name
        ) { row in
            let label = Self.label(of: row, key)
            add(
                LaunchGroup(
                    label: label, count: row.count(8), durations: DurationBuckets(),
                    first: WallTime(microseconds: row.integer(9) ?? 0),
                    last: WallTime(microseconds: row.integer(10) ?? 0)))
            // In place: there may be many days.
            _ = groups[label]?.durations.add(bytes: row.bytes(11))
        }
        if isPartial {
            let own = "launch.app IN (SELECT id FROM app\(app == nil ? "" : " WHERE name = ?3")) AND "
            try connection.run(
                """
                SELECT app.name, build_id, package, package_version, host.name, kind, cause, temperature, time, ready
                FROM launch JOIN app ON app.id = launch.app JOIN version ON version.id = launch.version
                JOIN host ON host.id = launch.host WHERE \(own) time >= ?1 AND time < ?2
                """, [.integer(start), .integer(firstDay * WallTime.dayLength)] + name
            ) { row in
                var durations = DurationBuckets()
                if let duration = row.duration(9) { durations.add(duration) }
                let time = WallTime(microseconds: row.integer(8) ?? 0)
                add(
                    LaunchGroup(
                        label: Self.label(of: row, key), count: 1, durations: durations, first: time, last: time))
            }
        }
        let byTime = { (left: LaunchGroup, right: LaunchGroup) in
            (left.first.microseconds, left.label) < (right.first.microseconds, right.label)
        }
        let bySize = { (left: LaunchGroup, right: LaunchGroup) in (right.count, left.label) < (left.count, right.label)
        }
        var table = LaunchSummaryTable(
            app: app, key: key, groups: groups.values.sorted(by: key == .version ? byTime : bySize))
        if let app {
            table.firstVersion = try version(of: app, since: start, "ASC")
            table.lastVersion = try version(of: app, since: start, "DESC")
        }
        return table
    }

    private static func label(of row: Row, _ key: LaunchGroup.Key) -> String {
        switch key {
        case .app: row.text(0)
        case .version: version(in: row, 1).text
        case .host: row.text(4).isEmpty ? "unknown" : row.text(4)
        case .kind: row.text(7) == "unknown" ? row.text(5) : "\(row.text(7)) \(row.text(5))"
        case .cause: row.text(6)
        }
    }

    private static func version(in row: Row, _ column: Int32) -> ProgramVersion {
        ProgramVersion(
            buildID: row.text(column), package: row.text(column + 1), packageVersion: row.text(column + 2))
    }

    private func version(
        of app: String, since start: Int64, _ order: String
    ) throws(HistoryError) -> ProgramVersion? {
        var version: ProgramVersion?
        try connection.run(
            """
            SELECT build_id, package, package_version FROM launch JOIN version ON version.id = launch.version
            WHERE launch.app = (SELECT id FROM app WHERE name = ?) AND time >= ? ORDER BY time \(order) LIMIT 1
            """, [.text(app), .integer(start)]
        ) { version = Self.version(in: $0, 0) }
        return version
    }
}
