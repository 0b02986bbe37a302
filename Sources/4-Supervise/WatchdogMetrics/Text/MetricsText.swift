// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy
import WatchdogVerdict

/// The text of all series of a daemon.
///
/// Pure: the same readings give the same bytes.
public enum MetricsText {
    /// With more apps than this, the text has only sums over all apps, without the label `app`: each app has about 150
    /// series, which would exceed the memory of many Prometheus servers.
    public static let mostApps = 1_000

    /// Renders the series of a daemon and its apps.
    ///
    /// - Parameter apps: in the order of their names.
    public static func render(_ daemon: DaemonReading, _ apps: [AppReading]) -> [UInt8] {
        let isSummed = apps.count > mostApps
        var text = ExpositionText(capacity: 2_048 + (isSummed ? 1 : apps.count) * 16_384)
        write(daemon, to: &text)
        let table = isSummed ? Table(summing: apps) : Table(apps)
        if !isSummed { writeSingle(table, to: &text) }
        writeSummable(table, to: &text)
        return text.finish()
    }

    private static func write(_ daemon: DaemonReading, to text: inout ExpositionText) {
        text.begin(.buildInfo)
        text.add(MetricLabels(["version": daemon.version]), count: 1)
        text.begin(.started)
        text.add(time: daemon.started)
        text.begin(.apps)
        text.add(count: daemon.apps)
        text.begin(.invalidFiles)
        text.add(count: daemon.invalidFiles)
        text.begin(.loopLateness)
        text.add(histogram: daemon.loopLateness)
        text.begin(.longestTurn)
        text.add(time: daemon.longestTurn)
        text.begin(.failedReports)
        text.add(count: daemon.failedReports)
        text.begin(.droppedMessages)
        text.add(MetricLabels(["destination": "journal"]), count: daemon.droppedEntries)
        text.add(MetricLabels(["destination": "stderr"]), count: daemon.droppedLines)
    }

    // MARK: - Apps

    /// One app, or all of them.
    ///
    /// A class, because a struct would be copied a hundred times for each app.
    private final class Row {
        let labels: MetricLabels
        let app: AppReading
        let states: [Int]
        let (answering, stopped): (Int, Int)

        /// The row of one app.
        init(_ app: AppReading) {
            labels = MetricLabels(["app": app.name])
            self.app = app
            states = AppReading.State.allCases.map { $0 == app.state ? 1 : 0 }
            (answering, stopped) = (app.isAnswering ? 1 : 0, app.isStoppedBySignal ? 1 : 0)
        }

        /// The row of all apps, which has no label.
        init(_ sum: AppReading, of apps: [AppReading]) {
            (labels, app) = (.none, sum)
            states = AppReading.State.allCases.map { state in apps.count { $0.state == state } }
            answering = apps.count { $0.isAnswering }
            stopped = apps.count { $0.isStoppedBySignal }
        }
    }

    /// The rows of every family.
    private struct Table {
        let rows: [Row]
        /// Whether rows have the label `app`.
        let isLabeled: Bool

        init(_ apps: [AppReading]) {
            rows = apps.map { Row($0) }
            isLabeled = true
        }

        init(summing apps: [AppReading]) {
            var sum = AppReading(name: "", state: .stopped)
            for app in apps {
                sum.meter.add(app.meter)
                sum.hasProbe = sum.hasProbe || app.hasProbe
                sum.hasReload = sum.hasReload || app.hasReload
                if let memory = app.memory { sum.memory = (sum.memory ?? 0) + memory }
            }
            rows = [Row(sum, of: apps)]
            isLabeled = false
        }

        func pattern(_ family: MetricFamily, _ labels: MetricLabels = .none) -> SeriesPattern {
            SeriesPattern(family.name, isLabeled: isLabeled, labels)
        }
    }

    /// Writes the series that cannot be summed.
    private static func writeSingle(_ table: Table, to text: inout ExpositionText) {
        text.begin(.appInfo)
        for row in table.rows {
            let more =
                ["version": row.app.version, "readiness": row.app.readiness, "enforce": row.app.enforcement]
                as KeyValuePairs
            text.add(table.pattern(.appInfo, MetricLabels(more)), row.labels, count: 1)
        }
        // Events that never happened get the time 0 (1970): no series is missing, and alerts on the age see a huge one.
        write(.appStart, table, &text) { $0.app.started ?? .zero }
        write(.appReady, table, &text) { $0.app.ready ?? .zero }
        write(.appAnswer, table, &text) { $0.app.lastAnswer ?? .zero }
        write(.appIncident, table, &text) { $0.app.lastIncident ?? .zero }
        text.begin(.appAllowance)
        let purposes = ["launch", "update", "terminate"].map {
            table.pattern(.appAllowance, MetricLabels(["allowance": $0]))
        }
        for row in table.rows {
            guard let allowances = row.app.allowances else { continue }
            text.add(purposes[0], row.labels, time: allowances.launch)
            text.add(purposes[1], row.labels, time: allowances.update)
            text.add(purposes[2], row.labels, time: allowances.terminate)
        }
    }

    private static func writeSummable(_ table: Table, to text: inout ExpositionText) {
        write(.appState, labels("state", AppReading.State.self), table, &text, \.states)
        write(.appAnswering, table, &text, \.answering)
        write(.appStopped, table, &text, \.stopped)
        write(.appLaunches, table, &text) { $0.app.meter.launches }
        write(.appLaunchFailures, table, &text) { $0.app.meter.launchFailures }
        write(.appTerminations, labels("cause", AppMeter.Termination.self), table, &text) {
            $0.app.meter.terminationCounts
        }
        write(.appIncidents, incidents, table, &text) { $0.app.meter.incidentCounts }
        write(.appVerdicts, labels("verdict", Verdict.Kind.self), table, &text) { $0.app.meter.verdictCounts }
        write(.appFaults, labels("fault", AppMeter.Fault.self), table, &text) { $0.app.meter.faultCounts }
        write(.appLaunchDuration, AppMeter.launchBounds, table, &text) { $0.app.meter.launchDurations }
        writePhases(table, to: &text)
        write(.appPingDuration, AppMeter.pingBounds, table, &text) { $0.app.meter.pings }
        write(.appHangDuration, AppMeter.hangBounds, table, &text) { $0.app.meter.hangs }
        write(.appProbeDuration, AppMeter.probeBounds, table, &text) { $0.app.hasProbe ? $0.app.meter.probes : nil }
        if table.rows.contains(where: \.app.hasProbe) {
            let failures = table.pattern(.appProbeFailures)
            text.begin(.appProbeFailures)
            for row in table.rows where row.app.hasProbe {
                text.add(failures, row.labels, count: row.app.meter.failedProbes)
            }
        }
        write(.appReloadDuration, AppMeter.reloadBounds, table, &text) { $0.app.hasReload ? $0.app.meter.reloads : nil }
        write(.appRunning, table, &text) { $0.app.meter.runningTime }
        writeUse(table, to: &text)
    }

    private static func writePhases(_ table: Table, to text: inout ExpositionText) {
        text.begin(.appLaunchPhase)
        let patterns = labels("phase", LaunchPhaseName.self).map {
            HistogramPattern(MetricFamily.appLaunchPhase.name, isLabeled: table.isLabeled, AppMeter.phaseBounds, $0)
        }
        for row in table.rows {
            for (pattern, histogram) in zip(patterns, row.app.meter.launchPhases) {
                text.add(pattern, row.labels, histogram)
            }
        }
    }

    /// Writes the kernel's resource counts; unknown ones are omitted, because 0 would be wrong.
    private static func writeUse(_ table: Table, to text: inout ExpositionText) {
        if table.rows.contains(where: { $0.app.cpuTime != nil }) {
            let user = table.pattern(.appCPU, MetricLabels(["mode": "user"]))
            let system = table.pattern(.appCPU, MetricLabels(["mode": "system"]))
            text.begin(.appCPU)
            for row in table.rows {
                guard let time = row.app.cpuTime else { continue }
                text.add(user, row.labels, time: time.user)
                text.add(system, row.labels, time: time.system)
            }
        }
        if table.rows.contains(where: { $0.app.memory != nil }) {
            let memory = table.pattern(.appMemory)
            text.begin(.appMemory)
            for row in table.rows { if let bytes = row.app.memory { text.add(memory, row.labels, count: bytes) } }
        }
    }

    // MARK: - Labels

    /// A label for each case, in their order; values without blanks are easier to query: `partly-running`.
    private static func labels<Value: CaseIterable & RawRepresentable<String>>(
        _ name: String, _: Value.Type
    ) -> [MetricLabels] {
        Value.allCases.map { MetricLabels(name, $0.rawValue.replacing(" ", with: "-")) }
    }

    /// In the order of ``AppMeter/incidentCounts``.
    private static var incidents: [MetricLabels] {
        WatchdogEvent.allCases.flatMap { event in
            ["reported", "killed"].map { MetricLabels(["event": event.rawValue, "action": $0]) }
        }
    }

    // MARK: - Families

    private static func write(
        _ family: MetricFamily, _ labels: [MetricLabels], _ table: Table, _ text: inout ExpositionText,
        _ counts: (Row) -> [Int]
    ) {
        text.begin(family)
        let series = SeriesPatterns(labels.map { table.pattern(family, $0) })
        for row in table.rows {
            let counts = counts(row)
            precondition(counts.count == series.lines.count, "each series has its value")
            text.add(series, row.labels) { counts[$0] }
        }
    }

    private static func write(
        _ family: MetricFamily, _ table: Table, _ text: inout ExpositionText, _ count: (Row) -> Int
    ) {
        text.begin(family)
        let series = table.pattern(family)
        for row in table.rows { text.add(series, row.labels, count: count(row)) }
    }

    private static func write(
        _ family: MetricFamily, _ table: Table, _ text: inout ExpositionText, _ time: (Row) -> Duration
    ) {
        text.begin(family)
        let series = table.pattern(family)
        for row in table.rows { text.add(series, row.labels, time: time(row)) }
    }

    /// Writes the histogram of each app that has one; without any, omits the family.
    private static func write(
        _ family: MetricFamily, _ bounds: [Duration], _ table: Table, _ text: inout ExpositionText,
        _ histogram: (Row) -> FixedHistogram?
    ) {
        let pattern = HistogramPattern(family.name, isLabeled: table.isLabeled, bounds)
        var hasBegun = false
        for row in table.rows {
            guard let histogram = histogram(row) else { continue }
            if !hasBegun { text.begin(family) }
            hasBegun = true
            text.add(pattern, row.labels, histogram)
        }
    }
}

/// Splits a long text, so that sending one part does not block the loop for long.
public enum MetricsParts {
    /// The bytes after which a part ends with the current line.
    static let size = 4_096

    /// Splits a text at line ends; the joined parts are the text.
    public static func split(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = 0
        while start < text.count {
            let least = min(start + size, text.count)
            let end = text[least...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? text.count
            parts.append(text[start..<end])
            start = end
        }
        return parts
    }
}
