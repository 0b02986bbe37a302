// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogVerdict

/// Fifty services of one daemon that hang at once, because all of them wait for one server.
struct Simultaneous {
    private static let count = 50
    private static let allowance = Duration.seconds(1)

    let bench: Bench

    func run(on page: inout Page) throws {
        page.begin("\(Self.count) hang at once: how late")
        add(try hang(), "", to: &page)
        let spinners = try (0..<8).map { _ in try Spinner(bench) }
        add(try hang(), "8 spinners: ", to: &page)
        withExtendedLifetime(spinners) {}
    }

    private struct Samples {
        var decision = Sample()
        var death = Sample()
        /// From the first end to the last report on disk.
        var reports = Sample()
        /// How many reports name the server as the cause.
        var causes = 0
    }

    private func add(_ samples: Samples, _ prefix: String, to page: inout Page) {
        page.row("\(prefix)decided", samples.decision)
        page.row("\(prefix)program dead", samples.death, goal: Page.Goal(median: 10, p99: 10))
        page.row("\(prefix)all reports on disk", samples.reports, goal: Page.Goal(median: 10_000))
        page.row("\(prefix)reports that name the server", right: samples.causes, of: Self.count, atLeast: Self.count)
    }

    private func hang() throws -> Samples {
        let socket = "\(bench.scratch)/server"
        let server = try Subject(bench.subject("mute"), [socket, "\(Self.count)"])
        defer { withExtendedLifetime(server) {} }
        let daemon = try Daemon(bench, isHeard: false)
        defer { daemon.end() }
        try daemon.configure(
            Self.count, prefix: "hanging",
            """
            [App]
            ExecStart=\(bench.subject("hang")) 0 0 \(socket)
            StandardOutput=inherit
            [Watchdog]
            Readiness=notify
            Update=\(Self.allowance.milliseconds.decimal(0))ms
            [Restart]
            Policy=never
            """)
        let client = try daemon.client
        let reload = try AsynchronousReload(try daemon.client)
        let watcher = Watcher()
        var hangs: [Int32: Hang] = [:]
        var deaths = 0
        while hangs.count < Self.count {
            let record = try daemon.nextRecord()
            guard record.kind == .signOfLife else { continue }
            let hang = Hang(sign: record.time, process: try Pidfd(opening: record.pid))
            hangs[record.pid] = hang
            watcher.watch(hang.process.descriptor.number) { now in
                hang.death = now
                deaths += 1
                watcher.ignore(hang.process.descriptor.number)
            }
        }
        try watcher.run(for: "\(Self.count) kills", limit: .seconds(60)) { deaths == Self.count }
        try reload.finish()
        let (paths, written) = try reports(of: hangs, client)
        var samples = Samples()
        for (pid, path) in paths {
            guard let hang = hangs[pid], let death = hang.death else { continue }
            let linux = try LinuxDetails.read(path)
            if linux.trail?.root == Int(server.process.pid) { samples.causes += 1 }
            let allowance = linux.allowance
            let limit = Self.allowance + allowance.postponement
            samples.decision.add(.nanoseconds(allowance.elapsedNanoseconds) - limit)
            samples.death.add(death - hang.sign - limit)
        }
        samples.reports.add(written - (hangs.values.compactMap(\.death).min() ?? written))
        return samples
    }

    /// The path of the report of each process, and when the last one was there.
    ///
    /// One call lists them all: fifty would keep the daemon from its reports.
    private func reports(of hangs: [Int32: Hang], _ client: ControlClient) throws -> ([Int32: String], Instant) {
        let deadline = Instant.now() + .seconds(60)
        while true {
            var paths: [Int32: String] = [:]
            // Other daemons have written to this folder before.
            for report in try client.reports(ReportsRequest(limit: 2 * Self.count)).reports {
                if let pid = report.pid, hangs[pid] != nil { paths[pid] = report.path }
            }
            let now = Instant.now()
            if paths.count == hangs.count { return (paths, now) }
            guard now < deadline else { throw Failure("\(paths.count) of \(Self.count) reports after a minute") }
            usleep(20_000)
        }
    }

    /// One service.
    private final class Hang {
        /// Its last sign of life.
        let sign: Instant
        let process: Pidfd
        /// When poll(2) showed its end.
        var death: Instant?

        init(sign: Instant, process: Pidfd) {
            self.sign = sign
            self.process = process
        }
    }
}
