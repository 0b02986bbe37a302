// SPDX-License-Identifier: Apache-2.0

/// The tables of the history.
///
/// Each step upgrades the tables from one version to the next; `user_version` is the number of executed steps. To add a
/// column, add a step, never change one. All times are microseconds since 1970 in UTC, all durations microseconds.
enum HistorySchema {
    /// `application_id`: "0x8badf00d" in the available 31 bits.
    static let applicationID: Int64 = 0x0bad_f00d
    /// The newest version.
    static var version: Int64 { Int64(steps.count) }

    private static let steps = [
        """
        CREATE TABLE app (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE host (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE version (
            id INTEGER PRIMARY KEY, app INTEGER NOT NULL, build_id TEXT NOT NULL, package TEXT NOT NULL,
            package_version TEXT NOT NULL, first_time INTEGER NOT NULL, reported INTEGER NOT NULL DEFAULT 0,
            UNIQUE (app, build_id, package, package_version));
        CREATE TABLE launch (
            id INTEGER PRIMARY KEY, app INTEGER NOT NULL, time INTEGER NOT NULL, kind TEXT NOT NULL,
            outcome TEXT NOT NULL, cause TEXT NOT NULL, source TEXT, temperature TEXT NOT NULL, version INTEGER NOT NULL,
            host INTEGER NOT NULL, exec INTEGER, hello INTEGER, first_frame INTEGER, ready INTEGER, useful INTEGER,
            cpu_time INTEGER, major_faults INTEGER, bytes_read INTEGER);
        CREATE INDEX launch_by_time ON launch (app, time);
        CREATE TABLE day (
            app INTEGER NOT NULL, day INTEGER NOT NULL, version INTEGER NOT NULL, host INTEGER NOT NULL,
            kind TEXT NOT NULL, cause TEXT NOT NULL, temperature TEXT NOT NULL, count INTEGER NOT NULL,
            first_time INTEGER NOT NULL, last_time INTEGER NOT NULL, buckets BLOB NOT NULL,
            PRIMARY KEY (app, day, version, host, kind, cause, temperature)) WITHOUT ROWID;
        CREATE TABLE hang (
            id INTEGER PRIMARY KEY, app INTEGER NOT NULL, time INTEGER NOT NULL, duration INTEGER NOT NULL,
            event TEXT NOT NULL, is_fatal INTEGER NOT NULL, version INTEGER NOT NULL);
        CREATE INDEX hang_by_time ON hang (app, time);
        CREATE TABLE termination (
            id INTEGER PRIMARY KEY, app INTEGER NOT NULL, time INTEGER NOT NULL, reason TEXT NOT NULL,
            is_foreground INTEGER NOT NULL, event TEXT, status TEXT, version INTEGER NOT NULL);
        CREATE INDEX termination_by_time ON termination (app, time);
        """,
        """
        ALTER TABLE launch ADD COLUMN phases BLOB;
        CREATE TABLE day_phases (
            app INTEGER NOT NULL, day INTEGER NOT NULL, buckets BLOB NOT NULL, PRIMARY KEY (app, day));
        """,
        "ALTER TABLE day ADD COLUMN assumed INTEGER NOT NULL DEFAULT 0;",
        """
        ALTER TABLE launch ADD COLUMN extended INTEGER;
        CREATE TABLE launch_task (
            launch INTEGER NOT NULL, name TEXT NOT NULL, began INTEGER NOT NULL, ended INTEGER,
            PRIMARY KEY (launch, name)) WITHOUT ROWID;
        CREATE TABLE day_moments (
            app INTEGER NOT NULL, day INTEGER NOT NULL, moment TEXT NOT NULL, buckets BLOB NOT NULL,
            PRIMARY KEY (app, day, moment)) WITHOUT ROWID;
        """,
    ]

    /// Whether the file has phases of launches: a reader may open an older file, which only a writer upgrades.
    static func hasPhases(_ connection: Connection) throws(HistoryError) -> Bool {
        try connection.integer("PRAGMA user_version") ?? 0 >= 2
    }

    /// Whether the file counts launches whose readiness was only assumed.
    static func hasAssumed(_ connection: Connection) throws(HistoryError) -> Bool {
        try connection.integer("PRAGMA user_version") ?? 0 >= 3
    }

    /// Whether the file has launch tasks, and counts the moments of launches.
    static func hasMoments(_ connection: Connection) throws(HistoryError) -> Bool {
        try connection.integer("PRAGMA user_version") ?? 0 >= 4
    }

    /// Throws if the file is another program's database, or if a newer watchdogd wrote it.
    static func check(_ connection: Connection) throws(HistoryError) {
        let identifier = try connection.integer("PRAGMA application_id") ?? 0
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let tables = try connection.integer("SELECT count(*) FROM sqlite_schema") ?? 0
        guard identifier != 0 || tables > 0 else {
            throw HistoryError(.notFound, "there is no launch in \(connection.path) yet")
        }
        guard identifier == applicationID else {
            throw HistoryError(.foreign, "\(connection.path) is a database, but not a history of watchdogd")
        }
        guard version <= self.version else {
            throw HistoryError(
                .newer,
                "\(connection.path) was written by a later watchdogd (format \(version), this one reads \(self.version)); "
                    + "use that one, or another file")
        }
    }

    /// Creates the tables, or upgrades them.
    static func prepare(_ connection: Connection) throws(HistoryError) {
        let isNew = try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
        if isNew {
            // This has an effect only before the first table is created.
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        } else {
            // Check before the journal mode is changed, which would modify another program's database.
            try check(connection)
        }
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
        try connection.execute("PRAGMA journal_size_limit = 4194304")
        try connection.transaction { () throws(HistoryError) in
            // Another process may have created the tables in the meantime.
            let isEmpty = try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
            if isEmpty { try connection.execute("PRAGMA application_id = \(applicationID)") }
            try check(connection)
            let done = try connection.integer("PRAGMA user_version") ?? 0
            guard done >= 0, done < version else { return }
            for step in steps[Int(done)...] { try connection.execute(step) }
            try connection.execute("PRAGMA user_version = \(version)")
        }
    }
}
