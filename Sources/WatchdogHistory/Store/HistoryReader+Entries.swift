// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

extension HistoryReader {
    /// The most entries that one call returns.
    public static let entryLimit = 1_000_000

    /// The launches, hangs and ends of an app, each kind in order of time; without versions, hosts and costs.
    ///
    /// - Parameter since: only those from this time on; nil for all.
    /// - Throws: ``HistoryError``. Over ``entryLimit`` of a kind, the earliest are left out.
    public func entries(of app: String, since: WallTime? = nil) throws(HistoryError) -> [HistoryEntry] {
        let values: [Value] = [.integer(since?.microseconds ?? .min), .text(app), .integer(Int64(Self.entryLimit))]
        func rows(
            _ table: String, _ columns: String, _ body: (Row) -> HistoryEntry?
        ) throws(HistoryError) -> [HistoryEntry] {
            var entries: [HistoryEntry] = []
            try connection.run(
                """
                SELECT time, \(columns) FROM \(table) WHERE time >= ?1 AND app = (SELECT id FROM app WHERE name = ?2)
                ORDER BY time DESC LIMIT ?3
                """, values
            ) { row in
                if let entry = body(row) { entries.append(entry) }
            }
            return entries.reversed()
        }
        var entries = try rows("launch", "kind, outcome, source, exec, ready") { row in
            guard let kind = KeptLaunch.Kind(rawValue: row.text(1)),
                let outcome = KeptLaunch.Outcome(rawValue: row.text(2))
            else { return nil }
            var moments: [KeptLaunch.Moment: Duration] = [:]
            moments[.exec] = row.duration(4)
            moments[.ready] = row.duration(5)
            let source = row.text(3)
            return .launch(
                KeptLaunch(
                    app: app, time: WallTime(microseconds: row.integer(0) ?? 0), kind: kind, outcome: outcome,
                    source: source.isEmpty ? nil : source, moments: moments))
        }
        entries += try rows("hang", "duration, event, is_fatal") { row in
            .hang(
                KeptHang(
                    app: app, time: WallTime(microseconds: row.integer(0) ?? 0), duration: row.duration(1) ?? .zero,
                    event: row.text(2), isFatal: row.integer(3) != 0))
        }
        entries += try rows("termination", "reason, is_foreground, event") { row in
            let event = row.text(3)
            return .termination(
                KeptTermination(
                    app: app, time: WallTime(microseconds: row.integer(0) ?? 0),
                    reason: KeptTermination.Reason(rawValue: row.text(1)) ?? .abnormal,
                    isForeground: row.integer(2) != 0, event: event.isEmpty ? nil : event))
        }
        return entries
    }
}
