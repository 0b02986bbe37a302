// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

extension HistoryReader {
    /// The running sum of launches.
    private struct Sum {
        var count = 0
        var assumed = 0
        var first = Int64.max
        var last = Int64.min
        var durations = DurationSums()

        mutating func add(_ more: Int, assumed: Int, from first: Int64, to last: Int64) {
            count += more
            self.assumed += assumed
            self.first = min(self.first, first)
            self.last = max(self.last, last)
        }
    }

    /// Sums by the value of a column; the latest one is cached, because rows of a value are often consecutive.
    private struct Sums {
        private(set) var values: [String] = []
        private(set) var all: [Sum] = []
        private var indices: [String: Int] = [:]
        private var latest = 0

        mutating func add(_ value: String, _ body: (inout Sum) -> Void) {
            if values.isEmpty || values[latest] != value { latest = index(of: value) }
            body(&all[latest])
        }

        private mutating func index(of value: String) -> Int {
            if let known = indices[value] { return known }
            indices[value] = all.count
            values.append(value)
            all.append(Sum())
            return all.count - 1
        }
    }

    /// The start of a query.
    struct Start {
        /// The time in microseconds.
        let time: Int64
        /// The first day that is counted completely.
        let day: Int64
        /// Whether the query also includes a part of the previous day.
        let isPartial: Bool

        init(_ since: WallTime?) {
            time = since?.microseconds ?? .min
            isPartial = time > 0 && time % WallTime.dayLength != 0
            day = since.map { [isPartial] in $0.day + (isPartial ? 1 : 0) } ?? .min
        }
    }

    /// Counts launches by a common property, and, for one app, sums up the durations of their phases.
    ///
    /// Complete days are read from the daily counts, a partial first day from its launches.
    ///
    /// - Parameters:
    ///   - app: the app; nil for all.
    ///   - since: the earliest request; nil for all.
    public func launches(
        of app: String?, since: WallTime? = nil, by key: LaunchGroup.Key
    ) throws(HistoryError) -> LaunchSummaryTable {
        let start = Start(since)
        let sums = try self.sums(of: app, from: start, by: key)
        var groups: [String: LaunchGroup] = [:]
        for (value, sum) in zip(sums.values, sums.all) {
            guard let label = try label(value, key) else { continue }
            let group = LaunchGroup(
                label: label, count: sum.count, assumed: sum.assumed, durations: sum.durations.buckets,
                first: WallTime(microseconds: sum.first), last: WallTime(microseconds: sum.last))
            if groups[label]?.add(group) == nil { groups[label] = group }
        }
        let byTime = { (left: LaunchGroup, right: LaunchGroup) in
            (left.first.microseconds, left.label) < (right.first.microseconds, right.label)
        }
        let bySize = { (left: LaunchGroup, right: LaunchGroup) in (right.count, left.label) < (left.count, right.label)
        }
        var table = LaunchSummaryTable(
            app: app, key: key, groups: groups.values.sorted(by: key == .version ? byTime : bySize))
        if let app {
            table.phases = try phases(of: app, from: start)
            if key == .version { table.versionPhases = try versionPhases(of: app, from: start) }
            table.moments = try moments(of: app, from: start)
            table.firstVersion = try version(of: app, since: start.time, "ASC")
            table.lastVersion = try version(of: app, since: start.time, "DESC")
        }
        return table
    }

    private func sums(
        of app: String?, from start: Start, by key: LaunchGroup.Key
    ) throws(HistoryError) -> Sums {
        var sums = Sums()
        // Name the apps explicitly, because the index has the app before the day.
        let own = "app IN (SELECT id FROM app\(app == nil ? "" : " WHERE name = ?1"))"
        let name = [app.map { Value.text($0) } ?? .null]
        let assumed = try HistorySchema.hasAssumed(connection) ? "assumed" : "0"
        let column = key == .kind ? "temperature || ' ' || kind" : key.rawValue
        try connection.run(
            "SELECT \(column), count, first_time, last_time, buckets, \(assumed) FROM day WHERE \(own) AND day >= ?2",
            name + [.integer(start.day)]
        ) { row in
            let (count, first, last) = (row.count(1), row.integer(2) ?? 0, row.integer(3) ?? 0)
            let assumed = row.count(5)
            sums.add(row.text(0)) { sum in
                sum.add(count, assumed: assumed, from: first, to: last)
                row.withBytes(4) { sum.durations.add(bytes: $0) }
            }
        }
        guard start.isPartial else { return sums }
        try connection.run(
            "SELECT \(column), time, ready, source FROM launch WHERE \(own) AND time >= ?2 AND time < ?3",
            name + [.integer(start.time), .integer(start.day * WallTime.dayLength)]
        ) { row in
            let (time, ready) = (row.integer(1) ?? 0, row.duration(2))
            let isAssumed = row.text(3) == KeptLaunch.assumed
            sums.add(row.text(0)) { sum in
                sum.add(1, assumed: isAssumed ? 1 : 0, from: time, to: time)
                if let ready, !isAssumed { sum.durations.add(ready) }
            }
        }
        return sums
    }

    // MARK: - Labels

    /// The name for people of a value of a group's column; nil if unknown.
    func label(_ value: String, _ key: LaunchGroup.Key) throws(HistoryError) -> String? {
        var label: String?
        switch key {
        case .app, .host:
            try connection.run("SELECT name FROM \(key.rawValue) WHERE id = ?", [.text(value)]) { label = $0.text(0) }
            return label == "" && key == .host ? "unknown" : label
        case .version:
            try connection.run(
                "SELECT build_id, package, package_version FROM version WHERE id = ?", [.text(value)]
            ) { label = Self.version(in: $0).text }
            return label
        case .kind: return value.hasPrefix("unknown ") ? String(value.dropFirst(8)) : value
        case .cause: return value
        }
    }

    private static func version(in row: Row) -> ProgramVersion {
        ProgramVersion(buildID: row.text(0), package: row.text(1), packageVersion: row.text(2))
    }

    private func version(
        of app: String, since start: Int64, _ order: String
    ) throws(HistoryError) -> ProgramVersion? {
        var version: ProgramVersion?
        try connection.run(
            """
            SELECT build_id, package, package_version FROM launch JOIN version ON version.id = launch.version
            WHERE launch.app = (SELECT id FROM app WHERE name = ?) AND time >= ? ORDER BY time \(order) LIMIT 1
            """, [.text(app), .integer(start)]
        ) { version = Self.version(in: $0) }
        return version
    }
}
