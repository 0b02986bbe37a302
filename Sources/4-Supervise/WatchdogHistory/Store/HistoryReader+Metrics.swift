// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

extension HistoryReader {
    private struct Place: Hashable {
        let app: String
        let day: Int64
    }

    /// MetricKit's metrics of each app and day, in order of day and app.
    ///
    /// - Parameters:
    ///   - app: the app; nil for all.
    ///   - since: a time on the first day; nil for all.
    public func metrics(of app: String?, since: WallTime? = nil) throws(HistoryError) -> [MetricKitMetrics] {
        var days: [Place: MetricKitMetrics.Day] = [:]
        let start = since.map { Value.integer($0.day * WallTime.dayLength) } ?? .integer(.min)
        let values = [start] + (app.map { [.text($0)] } ?? [])
        func each(
            _ table: String, _ columns: String, _ body: (inout MetricKitMetrics.Day, Row) -> Void
        ) throws(HistoryError) {
            try connection.run(
                """
                SELECT app.name, time, \(columns) FROM \(table) JOIN app ON app.id = \(table).app
                JOIN version ON version.id = \(table).version
                WHERE time >= ?1\(app == nil ? "" : " AND app.name = ?2") ORDER BY time
                """, values
            ) { row in
                let day = WallTime(microseconds: row.integer(1) ?? 0).day
                let place = Place(app: row.text(0), day: day)
                body(&days[place, default: MetricKitMetrics.Day(app: place.app, day: day)], row)
            }
        }
        let extended = try HistorySchema.hasMoments(connection) ? "extended" : "NULL"
        let columns = "kind, ready, first_frame, useful, build_id, package, package_version, source, \(extended)"
        try each("launch", columns) { day, row in
            if row.text(2) == KeptLaunch.Kind.resume.rawValue {
                if let ready = row.duration(3) { day.resumes.add(ready) }
            } else {
                let ready = row.text(9) == KeptLaunch.assumed ? nil : row.duration(3)
                if let draw = row.duration(4) ?? ready { day.firstDraws.add(draw) }
                // The tasks may end before the first frame, so take the later of the two.
                let extended = row.duration(10).map { max($0, row.duration(4) ?? .zero) }
                if let extended = extended ?? row.duration(5) { day.extendedLaunches.add(extended) }
            }
            let version = ProgramVersion(buildID: row.text(6), package: row.text(7), packageVersion: row.text(8))
            if day.version != ProgramVersion(), day.version != version { day.hasSeveralVersions = true }
            day.version = version
        }
        try each("hang", "duration, event") { day, row in
            guard let duration = row.duration(2), !KeptHang.isUnfinished(event: row.text(3)) else { return }
            day.hangs.add(duration)
        }
        try each("termination", "reason, is_foreground") { day, row in
            let reason = KeptTermination.Reason(rawValue: row.text(2)) ?? .abnormal
            if row.integer(3) == 0 {
                day.backgroundExits[reason, default: 0] += 1
            } else {
                day.foregroundExits[reason, default: 0] += 1
            }
        }
        return days.values.sorted { ($0.day, $0.app) < ($1.day, $1.app) }.map { MetricKitMetrics($0) }
    }
}
