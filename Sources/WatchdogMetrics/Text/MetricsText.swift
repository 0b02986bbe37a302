// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy
import WatchdogVerdict

/// The text of all series of a daemon.
///
/// Pure: the same readings give the same bytes.
public enum MetricsText {
    /// With more apps than this there are sums over all apps only, without the label `app`: each app has about ninety
    /// series, for which Prometheus would need more memory than many machines have.
    public static let mostApps = 1_000

    /// Renders the series of a daemon and its apps.
    ///
    /// - Parameter apps: in the order of their names.
    public static func render(_ daemon: DaemonReading, _ apps: [AppReading]) -> [UInt8] {
        let isSummed = apps.count > mostApps
        var text = ExpositionText(capacity: 2_048 + (isSummed ? 1 : apps.count) * 8_192)
        write(daemon, to: &text)
        let rows = isSummed ? [Row(summing: apps)] : apps.map(Row.init)
        if !isSummed { writeSingle(rows, to: &text) }
        writeSummable(rows, to: &text)
        return text.bytes
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
        text.add(histogram: daemon.loopLateness, bounds: ExpositionText.boundLabels(of: daemon.loopLateness.bounds))
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
    private struct Row {
        let labels: MetricLabels
        let app: AppReading
        let states: [AppReading.State: Int]

        init(_ app: AppReading) {
            labels = MetricLabels(["app": app.name])
            self.app = app
            states = [app.state: 1]
        }

        init(summing apps: [AppReading]) {
            var sum = AppReading(name: "", state: .stopped)
            var states: [AppReading.State: Int] = [:]
            for app in apps {
                states[app.state, default: 0] += 1
                sum.meter.add(app.meter)
                sum.hasProbe = sum.hasProbe || app.hasProbe
                sum.hasReload = sum.hasReload || app.hasReload
                if let memory = app.memory { sum.memory = (sum.memory ?? 0) + memory }
            }
            labels = .none
            app = sum
            self.states = states
        }
    }

    /// Writes what cannot be summed.
    private static func writeSingle(_ rows: [Row], to text: inout ExpositionText) {
        text.begin(.appInfo)
        for row in rows {
            let app = row.app
            text.add(
                row.labels,
                MetricLabels(["version": app.version, "readiness": app.readiness, "enforce": app.enforcement]),
                count: 1)
        }
        for (family, time) in [
            (MetricFamily.appStart, \AppReading.started), (.appReady, \.ready), (.appAnswer, \.lastAnswer),
            (.appIncident, \.lastIncident),
        ] {
            text.begin(family)
            // 1970 for what never happened: the age is then enormous, and no series is missing.
            for row in rows { text.add(row.labels, time: row.app[keyPath: time] ?? .zero) }
        }
        text.begin(.appAllowance)
        let purposes: [(MetricLabels, KeyPath<Allowances, Duration>)] = [
            (MetricLabels(["allowance": "launch"]), \.launch), (MetricLabels(["allowance": "update"]), \.update),
            (MetricLabels(["allowance": "terminate"]), \.terminate),
        ]
        for row in rows {
            guard let allowances = row.app.allowances else { continue }
            for (label, allowance) in purposes { text.add(row.labels, label, time: allowances[keyPath: allowance]) }
        }
    }

    private static func writeSummable(_ rows: [Row], to text: inout ExpositionText) {
        write(.appState, AppReading.State.allCases.map { ($0, MetricLabels(["state": $0.rawValue])) }, rows, &text) {
            $0.states[$1] ?? 0
        }
        write(.appLaunches, [((), .none)], rows, &text) { row, _ in row.app.meter.launches }
        write(.appLaunchFailures, [((), .none)], rows, &text) { row, _ in row.app.meter.launchFailures }
        write(
            .appTerminations, AppMeter.Termination.allCases.map { ($0, MetricLabels(["cause": $0.rawValue])) }, rows,
            &text
        ) { $0.app.meter.terminations($1) }
        write(.appIncidents, incidents, rows, &text) { $0.app.meter.incidents($1.event, isEnforced: $1.isEnforced) }
        write(
            .appVerdicts, Verdict.Kind.allCases.map { ($0, MetricLabels(["verdict": label(of: $0)])) }, rows, &text
        ) { $0.app.meter.verdicts($1) }
        write(.appFaults, AppMeter.Fault.allCases.map { ($0, MetricLabels(["fault": $0.rawValue])) }, rows, &text) {
            $0.app.meter.faults($1)
        }
        write(.appLaunchDuration, \.launchDurations, AppMeter.launchBounds, rows, &text)
        write(.appPingDuration, \.pings, AppMeter.pingBounds, rows, &text)
        write(.appHangDuration, \.hangs, AppMeter.hangBounds, rows, &text)
        write(.appProbeDuration, \.probes, AppMeter.probeBounds, rows.filter(\.app.hasProbe), &text)
        write(.appReloadDuration, \.reloads, AppMeter.reloadBounds, rows.filter(\.app.hasReload), &text)
        text.begin(.appRunning)
        for row in rows { text.add(row.labels, time: row.app.meter.runningTime) }
        writeUse(rows, to: &text)
    }

    /// Writes what the kernel counts, as far as it is known: an unknown use is not 0.
    private static func writeUse(_ rows: [Row], to text: inout ExpositionText) {
        if rows.contains(where: { $0.app.cpuTime != nil }) {
            let modes = (user: MetricLabels(["mode": "user"]), system: MetricLabels(["mode": "system"]))
            text.begin(.appCPU)
            for row in rows {
                guard let time = row.app.cpuTime else { continue }
                text.add(row.labels, modes.user, time: time.user)
                text.add(row.labels, modes.system, time: time.system)
            }
        }
        if rows.contains(where: { $0.app.memory != nil }) {
            text.begin(.appMemory)
            for row in rows { if let memory = row.app.memory { text.add(row.labels, count: memory) } }
        }
    }

    private static var incidents: [((event: WatchdogEvent, isEnforced: Bool), MetricLabels)] {
        WatchdogEvent.allCases.flatMap { event in
            [false, true].map { isEnforced in
                (
                    (event, isEnforced),
                    MetricLabels(["event": event.rawValue, "action": isEnforced ? "killed" : "reported"])
                )
            }
        }
    }

    /// `partly-running`: label values without blanks are easier to query.
    private static func label(of kind: Verdict.Kind) -> String { kind.rawValue.replacing(" ", with: "-") }

    private static func write<Key>(
        _ family: MetricFamily, _ keys: [(Key, MetricLabels)], _ rows: [Row], _ text: inout ExpositionText,
        _ value: (Row, Key) -> Int
    ) {
        text.begin(family)
        for row in rows { for (key, labels) in keys { text.add(row.labels, labels, count: value(row, key)) } }
    }

    private static func write(
        _ family: MetricFamily, _ histogram: KeyPath<AppMeter, FixedHistogram>, _ bounds: [Duration], _ rows: [Row],
        _ text: inout ExpositionText
    ) {
        guard !rows.isEmpty else { return }
        text.begin(family)
        let labels = ExpositionText.boundLabels(of: bounds)
        for row in rows { text.add(row.labels, histogram: row.app.meter[keyPath: histogram], bounds: labels) }
    }
}
