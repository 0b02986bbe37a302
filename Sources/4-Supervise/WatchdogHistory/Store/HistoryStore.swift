// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc
public import WatchdogBase
import WatchdogLinux

/// The history of launches, hangs and terminations in an SQLite file.
///
/// Several processes may use the same file. Every call may block on the disk.
///
/// Isolation: one thread at a time.
public final class HistoryStore {
    /// The limits of the history.
    public struct Limits: Hashable, Sendable {
        /// The age at which entries are removed.
        public var age: Duration
        /// The size of the file in bytes; beyond it, the oldest tenth is removed.
        public var bytes: Int64

        /// Creates limits; the defaults are 400 days and 200 MB.
        public init(age: Duration = .seconds(400 * 86_400), bytes: Int64 = 200_000_000) {
            self.age = age
            self.bytes = bytes
        }
    }

    /// The file's path.
    public let path: String
    private let limits: Limits
    private let connection: Connection
    private var phases = PhaseCounts()
    private var moments = MomentCounts()
    private var names: [String: Int64] = [:]
    private var versions: [Int64: [ProgramVersion: Int64]] = [:]
    /// The maximum number of cached identifiers of names and versions.
    private static let cacheLimit = 64

    /// Opens or creates the history; the file's mode is 0640, or stricter, depending on the umask.
    ///
    /// - Throws: ``HistoryError``: `damaged` or `newer` if the file cannot be used; see ``open(_:limits:)``.
    public init(path: String, limits: Limits = Limits()) throws(HistoryError) {
        self.path = path
        self.limits = limits
        try Self.create(path)
        connection = try Connection(path, flags: SQLITE_OPEN_READWRITE, patience: .seconds(2))
        try HistorySchema.prepare(connection)
        try prune(at: nil)
    }

    /// Opens the history; a damaged one is set aside as `PATH.damaged-N`, and a new one is created.
    ///
    /// - Returns: the history, and a message if one was set aside.
    public static func open(
        _ path: String, limits: Limits = Limits()
    ) throws(HistoryError) -> (store: HistoryStore, warning: String?) {
        do throws(HistoryError) {
            return (try HistoryStore(path: path, limits: limits), nil)
        } catch  where error.code == .damaged {
            let name = try setAside(path, because: error)
            return (
                try HistoryStore(path: path, limits: limits),
                "the launch history is damaged (\(error)); it is kept as \(name), and a new one begins"
            )
        }
    }

    /// Renames a damaged file; also its write-ahead log, which SQLite would otherwise apply to the new file.
    private static func setAside(_ path: String, because error: HistoryError) throws(HistoryError) -> String {
        let place: FilePlace
        do throws(LinuxError) {
            place = try FilePlace(path)
        } catch let refusal {
            throw HistoryError(.failed, "\(error); it cannot be set aside: \(refusal)")
        }
        for number in 1...99 {
            let ending = ".damaged-\(number)"
            var status = stat()
            guard fstatat(place.folder, place.name + ending, &status, AT_SYMLINK_NOFOLLOW) != 0 else { continue }
            guard place.rename(to: place.name + ending) == 0 else { break }
            for suffix in ["-wal", "-shm"] {
                renameat(place.folder, place.name + suffix, place.folder, place.name + ending + suffix)
            }
            return path + ending
        }
        throw HistoryError(.failed, "\(error); it cannot be set aside as \(path).damaged-N")
    }

    /// Creates the file with its mode, which SQLite copies to its journal files.
    private static func create(_ path: String) throws(HistoryError) {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        if !folder.isEmpty, access(folder, F_OK) != 0 { try createFolder(folder) }
        let file = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o640)
        guard file >= 0 else { throw HistoryError(.failed, "cannot open \(path): \(String(cString: strerror(errno)))") }
        var status = stat()
        fstat(file, &status)
        close(file)
        guard status.st_mode & S_IFMT == S_IFREG else { throw HistoryError(.failed, "\(path) is not a regular file") }
    }

    private static func createFolder(_ folder: String) throws(HistoryError) {
        var path = folder.hasPrefix("/") ? "" : "."
        for part in folder.split(separator: "/") {
            path += "/\(part)"
            guard mkdir(path, 0o750) == 0 || errno == EEXIST else {
                throw HistoryError(.failed, "cannot create \(path): \(String(cString: strerror(errno)))")
            }
        }
    }

    // MARK: - Writing

    /// Stores these entries in one transaction.
    public func add(_ entries: [HistoryEntry]) throws(HistoryError) {
        do throws(HistoryError) {
            try connection.transaction { () throws(HistoryError) in
                for entry in entries { try add(entry) }
                try phases.flush(to: connection)
                try moments.flush(to: connection)
            }
        } catch {
            // The rollback has also removed their rows, so drop the cached identifiers.
            names = [:]
            versions = [:]
            phases = PhaseCounts()
            moments = MomentCounts()
            throw error
        }
    }

    private func add(_ entry: HistoryEntry) throws(HistoryError) {
        if names.count > Self.cacheLimit { names = [:] }
        if versions.values.reduce(0, { $0 + $1.count }) > Self.cacheLimit { versions = [:] }
        switch entry {
        case .launch(let launch): try add(launch)
        case .completion(let completion):
            try LaunchRow.find(completion, in: connection)?.complete(with: completion, in: connection, &moments)
        case .hang(let hang):
            let app = try identifier(of: hang.app, in: "app")
            try connection.run(
                "INSERT INTO hang (app, time, duration, event, is_fatal, version) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    .integer(app), .integer(hang.time.microseconds), Value(hang.duration), .text(hang.event),
                    .integer(hang.isFatal ? 1 : 0), .integer(try identifier(of: hang.version, app, hang.time)),
                ])
        case .termination(let end):
            let app = try identifier(of: end.app, in: "app")
            try connection.run(
                """
                INSERT INTO termination (app, time, reason, is_foreground, event, status, version)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    .integer(app), .integer(end.time.microseconds), .text(end.reason.rawValue),
                    .integer(end.isForeground ? 1 : 0), Value(end.event), Value(end.status),
                    .integer(try identifier(of: end.version, app, end.time)),
                ])
        }
    }

    private func add(_ launch: KeptLaunch) throws(HistoryError) {
        let app = try identifier(of: launch.app, in: "app")
        let host = try identifier(of: launch.host, in: "host")
        let version = try identifier(of: launch.version, app, launch.time)
        let moments = KeptLaunch.Moment.allCases
        try connection.run(
            """
            INSERT INTO launch (app, time, kind, outcome, cause, source, temperature, version, host, cpu_time, \
            major_faults, bytes_read, phases, \(moments.map(\.rawValue).joined(separator: ", ")))
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?\(String(repeating: ", ?", count: moments.count)))
            """,
            [
                .integer(app), .integer(launch.time.microseconds), .text(launch.kind.rawValue),
                .text(launch.outcome.rawValue), .text(launch.cause), Value(launch.source),
                .text(launch.temperature.rawValue), .integer(version), .integer(host), Value(launch.cpuTime),
                Value(launch.majorFaults), Value(launch.bytesRead),
                PhaseBytes.bytes(launch.phases).map { .bytes($0) } ?? .null,
            ] + moments.map { Value(launch.moments[$0]) })
        if !launch.tasks.isEmpty { try LaunchRow.write(launch.tasks, of: connection.lastRow, to: connection) }
        try count(launch, app, version, host)
        phases.add(launch, of: app)
        self.moments.add(launch.moments, of: app, on: launch.time.day)
    }

    /// Adds a launch to the counts of its day, from which queries are answered without reading every launch.
    private func count(
        _ launch: KeptLaunch, _ app: Int64, _ version: Int64, _ host: Int64
    ) throws(HistoryError) {
        let key: [Value] = [
            .integer(app), .integer(launch.time.day), .integer(version), .integer(host), .text(launch.kind.rawValue),
            .text(launch.cause), .text(launch.temperature.rawValue),
        ]
        var buckets = DurationBuckets()
        try connection.run(
            """
            SELECT buckets FROM day
            WHERE app = ? AND day = ? AND version = ? AND host = ? AND kind = ? AND cause = ? AND temperature = ?
            """, key
        ) { buckets = DurationBuckets(bytes: $0.bytes(0)) ?? DurationBuckets() }
        if let duration = launch.duration { buckets.add(duration) }
        let time = Value.integer(launch.time.microseconds)
        try connection.run(
            """
            INSERT INTO day (app, day, version, host, kind, cause, temperature, count, assumed, first_time, last_time,
            buckets) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET count = count + 1, assumed = assumed + excluded.assumed,
            first_time = min(first_time, excluded.first_time), last_time = max(last_time, excluded.last_time),
            buckets = excluded.buckets
            """, key + [.integer(launch.isAssumed ? 1 : 0), time, time, .bytes(buckets.bytes)])
    }

    // MARK: - Names

    private func identifier(of name: String, in table: String) throws(HistoryError) -> Int64 {
        let key = "\(table)/\(name)"
        if let known = names[key] { return known }
        var found = try connection.integer("SELECT id FROM \(table) WHERE name = ?", [.text(name)])
        if found == nil {
            try connection.run("INSERT INTO \(table) (name) VALUES (?)", [.text(name)])
            found = connection.lastRow
        }
        names[key] = found
        return found ?? 0
    }

    private func identifier(
        of version: ProgramVersion, _ app: Int64, _ time: WallTime
    ) throws(HistoryError) -> Int64 {
        if let known = versions[app]?[version] { return known }
        let key: [Value] = [
            .integer(app), .text(version.buildID), .text(version.package), .text(version.packageVersion),
        ]
        var found = try connection.integer(
            "SELECT id FROM version WHERE app = ? AND build_id = ? AND package = ? AND package_version = ?", key)
        if found == nil {
            try connection.run(
                """
                INSERT INTO version (app, build_id, package, package_version, first_time) VALUES (?, ?, ?, ?, ?)
                """, key + [.integer(time.microseconds)])
            found = connection.lastRow
        }
        versions[app, default: [:]][version] = found
        return found ?? 0
    }

    // MARK: - Regressions

    /// Compares the latest version of an app with the previous one; nil without a new regression.
    ///
    /// A version is reported once.
    public func regression(of app: String, on host: String) throws(HistoryError) -> LaunchRegression? {
        guard let id = try connection.integer("SELECT id FROM app WHERE name = ?", [.text(app)]) else { return nil }
        var samples: [Int64: [RegressionRule.Sample]] = [:]
        var order: [Int64] = []
        try connection.run(
            """
            SELECT launch.version, time, ready, cpu_time FROM launch JOIN host ON host.id = launch.host
            WHERE app = ? AND kind = 'launch' AND outcome = 'ready' AND temperature != 'cold' AND host.name = ?
                AND source IS NOT '\(KeptLaunch.assumed)'
            ORDER BY time DESC LIMIT 20000
            """, [.integer(id), .text(host)]
        ) { row in
            guard let version = row.integer(0), let time = row.integer(1), let ready = row.duration(2) else { return }
            if samples[version] == nil { order.append(version) }
            samples[version, default: []].append(
                RegressionRule.Sample(time: time, duration: ready, cpuTime: row.duration(3)))
        }
        guard order.count >= 2, let latest = samples[order[0]], let former = samples[order[1]],
            let finding = RegressionRule.judge(former: former.reversed(), latest: latest.reversed())
        else { return nil }
        // Use one statement, because another process may check at the same time.
        var isFirst = false
        try connection.run(
            "UPDATE version SET reported = 1 WHERE id = ? AND reported = 0 RETURNING id", [.integer(order[0])]
        ) { _ in isFirst = true }
        guard isFirst else { return nil }
        return LaunchRegression(
            app: app, version: try version(order[0]), former: try version(order[1]), measure: finding.measure,
            before: finding.before, after: finding.after, ratio: finding.ratio, p: finding.p)
    }

    private func version(_ id: Int64) throws(HistoryError) -> ProgramVersion {
        var version = ProgramVersion()
        try connection.run("SELECT build_id, package, package_version FROM version WHERE id = ?", [.integer(id)]) {
            version = ProgramVersion(buildID: $0.text(0), package: $0.text(1), packageVersion: $0.text(2))
        }
        return version
    }

    // MARK: - Limits

    /// Removes entries beyond the age limit, and the oldest tenth while the file is too large.
    ///
    /// - Parameter now: nil for no limit of age.
    public func prune(at now: WallTime?) throws(HistoryError) {
        if let now { try remove(before: now.microseconds - limits.age.wholeMicroseconds) }
        for _ in 0..<64 {
            guard try size() > limits.bytes else { break }
            // Do not use the days for this: the first one may start long before its first remaining launch.
            guard let first = try connection.integer("SELECT min(time) FROM launch"),
                let last = try connection.integer("SELECT max(time) FROM launch"), last > first
            else { break }
            try remove(before: first + max(1, (last - first) / 10))
        }
    }

    /// The bytes in use.
    private func size() throws(HistoryError) -> Int64 {
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        return (pages - free) * (try connection.integer("PRAGMA page_size") ?? 4_096)
    }

    private func remove(before time: Int64) throws(HistoryError) {
        try connection.transaction { () throws(HistoryError) in
            // Delete these first, because SQLite may reuse a row's number.
            try connection.run(
                "DELETE FROM launch_task WHERE launch IN (SELECT id FROM launch WHERE time < ?)", [.integer(time)])
            for table in ["launch", "hang", "termination"] {
                try connection.run("DELETE FROM \(table) WHERE time < ?", [.integer(time)])
            }
            try connection.run("DELETE FROM day WHERE last_time < ?", [.integer(time)])
            for table in ["day_phases", "day_moments"] {
                try connection.run(
                    "DELETE FROM \(table) WHERE day < ?", [.integer(WallTime(microseconds: time).day)])
            }
            try connection.run(
                """
                DELETE FROM version WHERE first_time < ? AND id NOT IN (SELECT version FROM launch UNION \
                SELECT version FROM day UNION SELECT version FROM hang UNION SELECT version FROM termination)
                """, [.integer(time)])
        }
        versions = [:]
        try connection.execute("PRAGMA incremental_vacuum(2000)")
    }
}
