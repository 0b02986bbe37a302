// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The moments of launches that a transaction adds, counted by app and day.
///
/// They are written together at its end: each is read and written once.
struct MomentCounts {
    private struct Key: Hashable {
        let app: Int64
        let day: Int64
        let moment: KeptLaunch.Moment
    }

    private var counts: [Key: DurationBuckets] = [:]

    mutating func add(_ moments: [KeptLaunch.Moment: Duration], of app: Int64, on day: Int64) {
        for moment in KeptLaunch.Moment.summarized {
            guard let time = moments[moment] else { continue }
            counts[Key(app: app, day: day, moment: moment), default: DurationBuckets()].add(time)
        }
    }

    /// Adds the counts to the days of the store, and resets them.
    mutating func flush(to connection: Connection) throws(HistoryError) {
        for (key, added) in counts {
            var buckets = added
            let values: [Value] = [.integer(key.app), .integer(key.day), .text(key.moment.rawValue)]
            try connection.run(
                "SELECT buckets FROM day_moments WHERE app = ? AND day = ? AND moment = ?", values
            ) { row in
                _ = row.withBytes(0) { buckets.add(bytes: $0) }
            }
            try connection.run(
                """
                INSERT INTO day_moments (app, day, moment, buckets) VALUES (?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET buckets = excluded.buckets
                """, values + [.bytes(buckets.bytes)])
        }
        counts = [:]
    }
}
