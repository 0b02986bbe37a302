// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension OrganizerTable {
    /// The size of the lists.
    public struct Extent: Sendable {
        /// The maximum number of apps.
        public var apps: Int
        /// The maximum number of signatures of an app.
        public var signatures: Int
        /// The maximum number of hosts of an app.
        public var hosts: Int

        /// Creates an extent; the defaults fit a page.
        public init(apps: Int = 50, signatures: Int = 10, hosts: Int = 10) {
            self.apps = apps
            self.signatures = signatures
            self.hosts = hosts
        }
    }

    /// Creates the table from an organizer's counts.
    public init(_ organizer: Organizer, _ extent: Extent = Extent()) {
        let named = organizer.apps.sorted {
            ($1.value.incidents, $0.key) < ($0.value.incidents, $1.key)
        }
        let episodes = Dictionary(grouping: organizer.episodes, by: \.app)
        let comparisons = named.map { VersionComparison($0.value, episodes[$0.value.number] ?? []) }
        let tests = comparisons.flatMap { comparison in comparison.tests.compactMap(\.self) }
        let limit = RateTest.limit(tests, falseAlarms: Self.falseAlarms)
        incidents = organizer.incidents
        repetitions = organizer.repetitions
        isLimited = organizer.isLimited
        self.tests = tests.count
        apps = zip(named, comparisons).prefix(extent.apps).map { named, comparison in
            App(named.key, named.value, comparison, limit: limit, extent)
        }
        otherApps = max(0, named.count - extent.apps)
    }
}

extension OrganizerTable.App {
    fileprivate init(
        _ name: String, _ tally: AppTally, _ comparison: VersionComparison, limit: Double,
        _ extent: OrganizerTable.Extent
    ) {
        self.name = name
        incidents = tally.incidents
        hostCount = tally.hosts.count
        exposure = comparison.exposure
        versions = comparison.order.map { OrganizerTable.Version($0, tally, isLatest: $0 == comparison.latest) }
        hasHistory = !tally.ends.isEmpty
        terminations = Self.terminations(hasHistory ? tally.ends : tally.reportedEnds)
        let signatures = tally.signatures.indices.map { index in
            OrganizerTable.Signature(index, tally, comparison, limit: limit)
        }
        let rank = { (signature: OrganizerTable.Signature) in signature.isNew || signature.increase != nil ? 0 : 1 }
        self.signatures = Array(
            signatures.sorted {
                (rank($0), $1.incidents, $0.id) < (rank($1), $0.incidents, $1.id)
            }.prefix(extent.signatures))
        otherSignatures = max(0, signatures.count - extent.signatures)
        hosts = tally.hosts.sorted { ($1.incidents, $0.name) < ($0.incidents, $1.name) }.prefix(extent.hosts).map {
            host in
            OrganizerTable.Host(
                name: host.name, incidents: host.incidents, hangs: host.hangs,
                versions: comparison.order.compactMap { name in
                    tally.versionNumbers[name].flatMap { host.versions[$0] }.map { (name, $0) }
                })
        }
        otherHosts = max(0, tally.hosts.count - extent.hosts)
        days = Self.days(tally, comparison)
    }

    private static func terminations(_ ends: [AppTally.End: Int]) -> [OrganizerTable.Termination] {
        struct Key: Hashable {
            let cause: String
            let event: String
        }
        let keys = Set(ends.keys.map { Key(cause: $0.reason, event: $0.event) })
        func count(_ key: Key, _ role: OrganizerIncident.Role) -> Int {
            ends[AppTally.End(reason: key.cause, event: key.event, role: role)] ?? 0
        }
        return keys.map { key in
            OrganizerTable.Termination(
                cause: key.cause, event: key.event, foreground: count(key, .foreground),
                background: count(key, .background), unknown: count(key, .unknown))
        }
        .sorted { ($1.count, $0.cause, $0.event) < ($0.count, $1.cause, $1.event) }
    }

    /// The maximum number of days to list; the latest are used.
    private static let dayLimit: Int64 = 400

    private static func days(_ tally: AppTally, _ comparison: VersionComparison) -> [OrganizerTable.Day] {
        let latest = comparison.latest.flatMap { tally.versionNumbers[$0] }
        let all = tally.versions.flatMap(\.days.keys)
        guard let first = all.min(), let last = all.max() else { return [] }
        return (max(first, last - dayLimit + 1)...last).map { day in
            let later = latest.flatMap { tally.versions[$0].days[day] } ?? 0
            let sum = tally.versions.reduce(0) { $0 + ($1.days[day] ?? 0) }
            return OrganizerTable.Day(day: day, before: sum - later, latest: later)
        }
    }
}

extension OrganizerTable.Version {
    fileprivate init(_ name: String, _ tally: AppTally, isLatest: Bool) {
        let number = tally.versionNumbers[name]
        let version = number.map { tally.versions[$0] }
        let kept = tally.launches[name]
        self.name = name
        self.isLatest = isLatest
        first = min(version?.first ?? .max, kept?.first ?? .max)
        last = max(version?.last ?? .min, kept?.last ?? .min)
        incidents = version?.incidents ?? 0
        hosts = number.map { number in tally.hosts.count { $0.versions[number] != nil } } ?? 0
        launches = kept.flatMap { OrganizerTable.Launches($0) }
        if let fleet = kept?.fleet {
            let hours = fleet.running / 3_600
            hangRate = .secondsPerHour(fleet.hanging / hours, hours: hours)
        } else if let kept, kept.running > 0 {
            let hours = Double(kept.running) / 3_600
            let seconds = Double(kept.hangTime.components.seconds) + Double(kept.hangTime.components.attoseconds) / 1e18
            hangRate = .secondsPerHour(seconds / hours, hours: hours)
        } else if let version, version.incidents > 0 {
            let days = max(1, Double(version.last - version.first) / 86_400)
            hangRate = .hangsPerDay(Double(version.hangs) / days, days: days)
        } else {
            hangRate = nil
        }
    }
}

extension OrganizerTable.Launches {
    /// Creates the statistics from Prometheus if it has launches, otherwise from histories; nil without launches.
    fileprivate init?(_ kept: AppTally.Launches) {
        let quantile: (Double) -> Duration?
        if let launches = kept.fleet?.launches, launches.count > 0 {
            (count, failures) = (launches.count, nil)
            quantile = launches.quantile
        } else if kept.count > 0 {
            (count, failures) = (kept.count, kept.count - kept.durations.count)
            quantile = kept.durations.quantile
        } else {
            return nil
        }
        (p25, p50, p75, p90) = (quantile(0.25), quantile(0.5), quantile(0.75), quantile(0.9))
    }
}

extension OrganizerTable.Signature {
    fileprivate init(_ index: Int, _ tally: AppTally, _ comparison: VersionComparison, limit: Double) {
        let signature = tally.signatures[index]
        id = signature.id
        event = signature.event
        cause = signature.cause
        frames = signature.frames
        incidents = signature.incidents
        incidentsInLatest =
            comparison.latest.flatMap { tally.versionNumbers[$0] }.flatMap { signature.versions[$0] } ?? 0
        first = signature.first
        last = signature.last
        newest = signature.newest
        firstVersion = comparison.ordered.first { version in
            tally.versionNumbers[version].map { signature.versions[$0] != nil } ?? false
        }
        // An incident without a version may be from an earlier one.
        isNew =
            comparison.latest != nil && firstVersion == comparison.latest && signature.versions.count == 1
            && id != Organizer.others
        increase = comparison.tests[index].flatMap { test in
            test.before > 0 && test.p <= limit && test.ratio >= OrganizerTable.smallestRatio
                ? OrganizerTable.Increase(ratio: test.ratio, p: test.p) : nil
        }
    }
}
