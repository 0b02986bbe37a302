// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

extension HistoryReader {
    /// The maximum number of entries per kind that one call returns.
    public static let entryLimit = 1_000_000

    /// The launches, hangs and ends of an app, each kind in order of time; without costs.
    ///
    /// - Parameter since: only those from this time on; nil for all.
    /// - Throws: ``HistoryError``. Beyond ``entryLimit`` of a kind, the earliest are dropped.
    public func entries(of app: String, since: WallTime? = nil) throws(HistoryError) -> [HistoryEntry] {
        let values: [Value] = [.integer(since?.microseconds ?? .min), .text(app), .integer(Int64(Self.entryLimit))]
        func rows(
            _ table: String, _ columns: String, _ join: String = "", _ body: (Row) -> HistoryEntry?
        ) throws(HistoryError) -> [HistoryEntry] {
            var entries: [HistoryEntry] = []
            try connection.run(
                """
                SELECT time, build_id, package, package_version, \(columns) FROM \(table)
                JOIN version ON version.id = \(table).version\(join)
                WHERE time >= ?1 AND \(table).app = (SELECT id FROM app WHERE name = ?2) ORDER BY time DESC LIMIT ?3
                """, values
            ) { row in
                if let entry = body(row) { entries.append(entry) }
            }
            return entries.reversed()
        }
        func version(_ row: Row) -> ProgramVersion {
            ProgramVersion(buildID: row.text(1), package: row.text(2), packageVersion: row.text(3))
        }
        let launches = "kind, outcome, source, exec, ready, host.name"
        var entries = try rows("launch", launches, " JOIN host ON host.id = launch.host") { row in
            guard let kind = KeptLaunch.Kind(rawValue: row.text(4)),
                let outcome = KeptLaunch.Outcome(rawValue: row.text(5))
            else { return nil }
            var moments: [KeptLaunch.Moment: Duration] = [:]
            moments[.exec] = row.duration(7)
            moments[.ready] = row.duration(8)
            let source = row.text(6)
            return .launch(
                KeptLaunch(
                    app: app, time: WallTime(microseconds: row.integer(0) ?? 0), kind: kind, outcome: outcome,
                    source: source.isEmpty ? nil : source, version: version(row), host: row.text(9), moments: moments))
        }
        entries += try rows("hang", "duration, event, is_fatal") { row in
            .hang(
                KeptHang(
                    app: app, time: WallTime(microseconds: row.integer(0) ?? 0), duration: row.duration(4) ?? .zero,
                    event: row.text(5), isFatal: row.integer(6) != 0, version: version(row)))
        }
        entries += try rows("termination", "reason, is_foreground, event") { row in
            let event = row.text(6)
            return .termination(
                KeptTermination(
                    app: app, time: WallTime(microseconds: row.integer(0) ?? 0),
                    reason: KeptTermination.Reason(rawValue: row.text(4)) ?? .abnormal,
                    isForeground: row.integer(5) != 0, event: event.isEmpty ? nil : event, version: version(row)))
        }
        return entries
    }
}
