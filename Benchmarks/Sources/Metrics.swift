// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux

/// What metrics of a thousand services cost the daemon.
struct Metrics {
    private static let services = 1_000
    private static let readings = 10

    let bench: Bench

    func run(on page: inout Page) throws {
        let file = "\(bench.freshPath("metrics")).prom"
        let daemon = try Daemon(bench, options: ["--metrics-file", file])
        defer { daemon.end() }
        try daemon.configure(
            Self.services,
            """
            [App]
            ExecStart=\(bench.subject("service"))
            StandardOutput=inherit
            [Watchdog]
            Readiness=none
            """)
        let client = try daemon.client
        let reload = try AsynchronousReload(client)
        for _ in 0..<Self.services { _ = try daemon.nextRecord() }
        try reload.finish()
        // A minute later, the turns at startup are not recent; the file is written four times in that minute.
        sleep(5)
        let (before, started) = (daemon.cpuTime, Instant.now())
        sleep(60)
        let share = (daemon.cpuTime - before).milliseconds / (Instant.now() - started).milliseconds * 100
        let written = try client.describeDaemon().recentTurn
        var sample = Sample()
        var bytes = 0
        for _ in 0..<Self.readings {
            let called = Instant.now()
            bytes = try client.metrics().parts.reduce(0) { $0 + $1.utf8.count }
            sample.add(Instant.now() - called)
        }
        let called = try client.describeDaemon().recentTurn
        page.begin("Metrics of \(Self.services) services (\(bytes / 1_000) kB)")
        page.row("watchdogd metrics, to the last part", sample)
        page.row(
            "longest turn, file every 15 s", count: 4, median: Double(written.count) / 1_000, goal: Page.Goal(median: 1)
        )
        page.row(
            "longest turn, metrics called", count: Self.readings, median: Double(called.count) / 1_000,
            goal: Page.Goal(median: 1))
        page.begin("CPU time, file every 15 s", unit: "%")
        page.row("\(Self.services) services", count: 4, median: share, goal: Page.Goal(median: 0.2))
    }
}
