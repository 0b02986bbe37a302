// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension HistoryReader {
    /// The times of an app's launches until each optional moment.
    func moments(of app: String, from start: Start) throws(HistoryError) -> [MomentSummary] {
        guard try HistorySchema.hasMoments(connection) else { return [] }
        var sums: [KeptLaunch.Moment: DurationSums] = [:]
        let own = "app = (SELECT id FROM app WHERE name = ?1)"
        try connection.run(
            "SELECT moment, buckets FROM day_moments WHERE \(own) AND day >= ?2", [.text(app), .integer(start.day)]
        ) { row in
            guard let moment = KeptLaunch.Moment(rawValue: row.text(0)) else { return }
            row.withBytes(1) { sums[moment, default: DurationSums()].add(bytes: $0) }
        }
        if start.isPartial {
            let columns = KeptLaunch.Moment.summarized.map(\.rawValue).joined(separator: ", ")
            try connection.run(
                "SELECT \(columns) FROM launch WHERE \(own) AND time >= ?2 AND time < ?3",
                [.text(app), .integer(start.time), .integer(start.day * WallTime.dayLength)]
            ) { row in
                for (index, moment) in KeptLaunch.Moment.summarized.enumerated() {
                    guard let time = row.duration(Int32(index)) else { continue }
                    sums[moment, default: DurationSums()].add(time)
                }
            }
        }
        return KeptLaunch.Moment.summarized.compactMap { moment in
            guard let durations = sums[moment]?.buckets, durations.count > 0 else { return nil }
            return MomentSummary(moment: moment, durations: durations)
        }
    }
}
