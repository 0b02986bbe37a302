// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension HistoryReader {
    /// The durations of the phases of an app's launches.
    func phases(of app: String, from start: Start) throws(HistoryError) -> [PhaseSummary] {
        guard try HistorySchema.hasPhases(connection) else { return [] }
        var sums: [LaunchPhaseName: DurationSums] = [:]
        let own = "app = (SELECT id FROM app WHERE name = ?1)"
        try connection.run(
            "SELECT buckets FROM day_phases WHERE \(own) AND day >= ?2", [.text(app), .integer(start.day)]
        ) { row in
            row.withBytes(0) { bytes in
                PhaseBytes.read(bytes) { sums[$0, default: DurationSums()].add(bytes: $1) }
            }
        }
        if start.isPartial {
            try connection.run(
                "SELECT phases FROM launch WHERE \(own) AND time >= ?2 AND time < ?3 AND phases IS NOT NULL",
                [.text(app), .integer(start.time), .integer(start.day * WallTime.dayLength)]
            ) { row in
                for (phase, duration) in row.withBytes(0, PhaseBytes.durations) {
                    sums[phase, default: DurationSums()].add(duration)
                }
            }
        }
        return LaunchPhaseName.allCases.compactMap { phase in
            guard let durations = sums[phase]?.buckets, durations.count > 0 else { return nil }
            return PhaseSummary(phase: phase, durations: durations)
        }
    }
}
