// SPDX-License-Identifier: Apache-2.0

import Dispatch
import WatchdogBase
package import WatchdogControl
import WatchdogLaunch
package import WatchdogLinux
package import WatchdogMetrics
import WatchdogPolicy

/// Reads all metrics of a daemon or a run and has them rendered off the loop.
///
/// It reads the apps a few at a time, after everything more important, so that a thousand of them delay nothing.
/// Requests that arrive during a collection share the next one, so that each app is read after the request.
///
/// Isolation: the loop's thread.
package final class MetricsCollection {
    /// What the kernel counts of an app is read beside the loop.
    package struct Reading: Sendable {
        package var app: AppReading
        package let cgroup: Cgroup?

        package init(app: AppReading, cgroup: Cgroup?) {
            self.app = app
            self.cgroup = cgroup
        }
    }

    /// The apps read in one turn, which takes less than 0.2 ms.
    private static let appsPerTurn = 32

    private unowned let source: any MetricsSource
    private let queue = DispatchQueue(label: "org.watchdogd.metrics", qos: .utility)
    private var turn: Timer?
    /// The requests that the current collection answers; empty if there is none.
    private var served: [(Metrics) -> Void] = []
    /// The requests that arrived since it began.
    private var waiting: [(Metrics) -> Void] = []
    /// The apps that are still to be read.
    private var names: ArraySlice<String> = []
    private var readings: [Reading] = []
    private var hasToldOfLimit = false

    package init(of source: any MetricsSource) {
        self.source = source
    }

    /// The rendered text.
    struct Metrics: Sendable {
        let text: [UInt8]
    }

    /// Collects everything.
    ///
    /// - Parameter end: called later.
    func collect(then end: @escaping (Metrics) -> Void) {
        waiting.append(end)
        if served.isEmpty { begin() }
    }

    private func begin() {
        (served, waiting) = (waiting, [])
        names = source.appNames[...]
        readings.reserveCapacity(names.count)
        tellOfLimit()
        do {
            // One timer for each collection: without one, nothing remains.
            turn = try source.host.loop.timer(priority: .last) { [weak self] _ in self?.readSome() }
            turn?.arm(at: source.host.loop.now)
        } catch {
            repeat { readSome() } while !names.isEmpty
        }
    }

    /// Collects everything for a client of the control interface; the reply is written piece by piece.
    package func answer(_ answer: ControlAnswer<MetricsReply>) {
        collect { [unowned self] metrics in
            source.disks.read(on: queue) {
                MetricsReply(encoding: MetricsParts.split(metrics.text))
            } then: {
                answer.succeed($0)
            }
        }
    }

    private func tellOfLimit() {
        guard names.count > MetricsText.mostApps, !hasToldOfLimit else { return }
        hasToldOfLimit = true
        source.say(
            "metrics of \(names.count) apps are summed: at most \(MetricsText.mostApps) can have series of their own")
    }

    private func readSome() {
        let now = source.host.loop.now
        let wall = Duration(since1970: .now())
        for name in names.prefix(Self.appsPerTurn) {
            if let reading = source.reading(of: name, at: now, wall) { readings.append(reading) }
        }
        names = names.dropFirst(Self.appsPerTurn)
        guard names.isEmpty else {
            turn?.arm(at: now)
            return
        }
        let (readings, own) = (readings, daemonReading(at: now))
        (self.readings, names) = ([], [])
        source.disks.read(on: queue) {
            Self.render(own, readings)
        } then: { [weak self] in
            self?.finish($0)
        }
    }

    private func finish(_ metrics: Metrics) {
        turn?.cancel()
        turn = nil
        let served = served
        self.served = []
        for end in served { end(metrics) }
        if self.served.isEmpty, !waiting.isEmpty { begin() }
    }

    private func daemonReading(at now: Instant) -> DaemonReading {
        var reading = DaemonReading(version: watchdogdVersion, started: source.started)
        reading.apps = source.appNames.count
        reading.invalidFiles = source.invalidFileCount
        reading.loopLateness = source.host.loop.lateness
        reading.longestTurn = source.host.loop.turns.longestRecently(at: now)
        reading.failedReports = source.failedReports
        reading.droppedEntries = source.host.log.droppedCount
        reading.droppedLines = source.droppedLines
        return reading
    }

    private static func render(_ daemon: DaemonReading, _ readings: [Reading]) -> Metrics {
        // All cgroups of apps are children of one, and have the same controllers.
        var hasMemory = true
        var reader = CgroupReader()
        let apps = readings.map { reading in
            var app = reading.app
            guard readings.count <= MetricsText.mostApps, let cgroup = reading.cgroup else { return app }
            app.cpuTime = reader.cpuTimes(of: cgroup).map { AppReading.CPUTime(user: $0.user, system: $0.system) }
            if hasMemory {
                app.memory = reader.memory(of: cgroup)
                hasMemory = app.memory != nil || app.cpuTime == nil
            }
            return app
        }
        return Metrics(text: MetricsText.render(daemon, apps))
    }
}
