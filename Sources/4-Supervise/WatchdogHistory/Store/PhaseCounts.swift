// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The phases of launches that a transaction adds, counted by app and day.
///
/// They are written together at its end: each day is read and written once.
struct PhaseCounts {
    private struct Key: Hashable {
        let app: Int64
        let day: Int64
    }

    private var days: [Key: [LaunchPhaseName: DurationBuckets]] = [:]

    mutating func add(_ launch: KeptLaunch, of app: Int64) {
        guard !launch.phases.isEmpty else { return }
        for (phase, duration) in launch.phases {
            days[Key(app: app, day: launch.time.day), default: [:]][phase, default: DurationBuckets()].add(duration)
        }
    }

    /// Adds the counts to the days of the store, and resets them.
    mutating func flush(to connection: Connection) throws(HistoryError) {
        for (key, added) in days {
            var buckets = added
            let values: [Value] = [.integer(key.app), .integer(key.day)]
            try connection.run("SELECT buckets FROM day_phases WHERE app = ? AND day = ?", values) { row in
                row.withBytes(0) { bytes in
                    PhaseBytes.read(bytes) { buckets[$0, default: DurationBuckets()].add(bytes: $1) }
                }
            }
            try connection.run(
                """
                INSERT INTO day_phases (app, day, buckets) VALUES (?, ?, ?)
                ON CONFLICT DO UPDATE SET buckets = excluded.buckets
                """, values + [.bytes(PhaseBytes.bytes(buckets))])
        }
        days = [:]
    }
}
