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
        return Self.summaries(sums)
    }

    private static func summaries(_ sums: [LaunchPhaseName: DurationSums]) -> [PhaseSummary] {
        LaunchPhaseName.allCases.compactMap { phase in
            guard let durations = sums[phase]?.buckets, durations.count > 0 else { return nil }
            return PhaseSummary(phase: phase, durations: durations)
        }
    }

    /// The most launches that ``versionPhases(of:from:)`` reads, so that its time does not grow with the history.
    private static let mostLaunches: Int64 = 2_000
    /// The most versions that it tells apart.
    private static let mostVersions = 3

    /// The durations of the phases in the latest versions of an app, oldest version first, from its latest launches.
    func versionPhases(of app: String, from start: Start) throws(HistoryError) -> [VersionPhases] {
        guard try HistorySchema.hasPhases(connection) else { return [] }
        var versions: [String] = []
        var sums: [String: [LaunchPhaseName: DurationSums]] = [:]
        try connection.run(
            """
            SELECT version, phases FROM launch WHERE app = (SELECT id FROM app WHERE name = ?1) AND time >= ?2
            ORDER BY time DESC LIMIT ?3
            """, [.text(app), .integer(start.time), .integer(Self.mostLaunches)]
        ) { row in
            let version = row.text(0)
            let phases = row.withBytes(1, PhaseBytes.durations)
            guard !phases.isEmpty else { return }
            if !versions.contains(version) { versions.append(version) }
            for (phase, duration) in phases {
                sums[version, default: [:]][phase, default: DurationSums()].add(duration)
            }
        }
        var result: [VersionPhases] = []
        for version in versions.prefix(Self.mostVersions).reversed() {
            guard let label = try label(version, .version) else { continue }
            result.append(VersionPhases(label: label, phases: Self.summaries(sums[version] ?? [:])))
        }
        return result
    }
}
