// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogVerdict

/// Many services of one daemon: how fast they start, restart and stop, and what they cost.
struct Services {
    private static let repetitions = 60

    let bench: Bench

    func run(on page: inout Page) throws {
        let peers = Peers(bench, on: &page)
        try launch(beside: peers, on: &page)
        try restart(beside: peers, on: &page)
        try command(on: &page)
        try stop(on: &page)
        try memory(beside: peers, on: &page)
        try processorTime(on: &page)
    }

    private func settings(_ arguments: String = "", _ more: String = "") -> String {
        """
        [App]
        ExecStart=\(bench.subject("service")) \(arguments)
        StandardOutput=inherit
        [Watchdog]
        Readiness=\(arguments.isEmpty ? "none" : "channel")
        \(more)
        """
    }

    // MARK: - All at once

    private func launch(beside peers: Peers, on page: inout Page) throws {
        for count in [1, 100, 500] {
            page.begin("\(count) at once, to first instruction")
            var sample = Sample()
            for _ in 0..<(count == 1 ? 20 : 5) {
                let daemon = try Daemon(bench)
                try daemon.configure(count, settings())
                let client = try daemon.client
                let requested = Instant.now()
                let reload = try AsynchronousReload(client)
                var last = requested
                for _ in 0..<count { last = max(last, try daemon.nextRecord().time) }
                try reload.finish()
                sample.add(last - requested)
            }
            page.row("watchdogd, configuration read", sample, goal: count == 500 ? Page.Goal(median: 150) : nil)
            page.row("watchdogd, Launch calls", try calls(count))
            peers.launch(count, repetitions: count == 1 ? 10 : 3, on: &page)
        }
    }

    /// Services that are configured already, each asked for by itself.
    private func calls(_ count: Int) throws -> Sample {
        var sample = Sample()
        for _ in 0..<(count == 1 ? 10 : 3) {
            let daemon = try Daemon(bench)
            try daemon.configure(count, settings("", "[App]\nEnabled=no"))
            let client = try daemon.client
            _ = try client.reload()
            let requested = Instant.now()
            var last = requested
            for index in 0..<count { _ = try client.launch(AppRequest("service\(index)")) }
            for _ in 0..<count { last = max(last, try daemon.nextRecord().time) }
            sample.add(last - requested)
        }
        return sample
    }

    // MARK: - One

    private func restart(beside peers: Peers, on page: inout Page) throws {
        page.begin("kill -9 to next first instruction")
        // That services are killed by others is its news 60 times.
        let daemon = try Daemon(bench, isHeard: false)
        try daemon.configure(1, settings("", "[Restart]\nPolicy=always\nReset=1ms\nLimit=infinity"))
        let client = try daemon.client
        _ = try client.reload()
        var record = try daemon.nextRecord()
        var sample = Sample()
        for _ in 0..<Self.repetitions {
            // A run of one millisecond counts as healthy here.
            usleep(20_000)
            let killed = Instant.now()
            kill(record.pid, SIGKILL)
            record = try daemon.nextRecord()
            sample.add(record.time - killed)
        }
        page.row("watchdogd, no wait is due", sample, goal: Page.Goal(median: 0.8))
        peers.restart(repetitions: 10, on: &page)
    }

    private func command(on page: inout Page) throws {
        page.begin("Control request to first instruction")
        let daemon = try Daemon(bench)
        try daemon.configure(1, settings())
        let client = try daemon.client
        _ = try client.reload()
        _ = try daemon.nextRecord()
        var sample = Sample()
        for _ in 0..<Self.repetitions {
            _ = try client.terminate(AppRequest("service0", waits: true))
            usleep(2_000)
            let requested = Instant.now()
            _ = try client.launch(AppRequest("service0"))
            sample.add(try daemon.nextRecord().time - requested)
        }
        page.row("Launch over the socket", sample, goal: Page.Goal(median: 0.6))
    }

    /// A service that continues after SIGTERM: its allowance ends 100 ms later.
    private func stop(on page: inout Page) throws {
        page.begin("SIGTERM + allowance to the end: late")
        let allowance = Duration.milliseconds(100)
        let daemon = try Daemon(bench, isHeard: false)
        var settings = settings("stubborn", "Terminate=100ms")
        settings.replace("Readiness=channel", with: "Readiness=none")
        try daemon.configure(1, settings)
        let client = try daemon.client
        _ = try client.reload()
        var sample = Sample()
        for repetition in 0..<Self.repetitions {
            if repetition > 0 { _ = try client.launch(AppRequest("service0")) }
            var record = try daemon.nextRecord()
            while record.kind != .settled { record = try daemon.nextRecord() }
            let process = try Pidfd(opening: record.pid)
            _ = try client.terminate(AppRequest("service0"))
            while record.kind != .signOfLife { record = try daemon.nextRecord() }
            var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 10_000) == 1 else { throw Failure("a service that ignores SIGTERM lives forever") }
            sample.add(.now() - record.time - allowance)
            try awaitRest(client)
        }
        page.row("watchdogd: decided", try decisions(client, allowance), goal: Page.Goal(median: 0.4))
        page.row("watchdogd: stacks taken, dead", sample)
    }

    /// From the reports: the time from the request until the capture of the service began.
    private func decisions(_ client: ControlClient, _ allowance: Duration) throws -> Sample {
        var sample = Sample()
        let deadline = Instant.now() + .seconds(10)
        var paths: [String] = []
        while paths.count < Self.repetitions, Instant.now() < deadline {
            paths = try client.reports(ReportsRequest(app: "service0")).reports.map(\.path)
            usleep(20_000)
        }
        for path in paths {
            let details = try LinuxDetails.read(path).allowance
            sample.add(.nanoseconds(details.elapsedNanoseconds - details.creditNanoseconds) - allowance)
        }
        return sample
    }

    /// The daemon keeps nothing of the service.
    private func awaitRest(_ client: ControlClient) throws {
        let deadline = Instant.now() + .seconds(10)
        while try client.list().apps.first?.state != .stopped {
            guard Instant.now() < deadline else { throw Failure("the daemon does not finish with a dead service") }
            usleep(2_000)
        }
    }

    // MARK: - Many

    private func memory(beside peers: Peers, on page: inout Page) throws {
        page.begin("Memory of all supervisors: PSS", unit: "MB")
        let empty = try Daemon(bench)
        // What only the start needed is given back after three seconds.
        sleep(4)
        page.row("no service: watchdogd", count: 1, median: try empty.proportionalMemory())
        empty.end()
        for count in [100, 1_000] {
            let daemon = try Daemon(bench)
            try daemon.configure(count, settings())
            try begin(count, of: daemon)
            sleep(4)
            page.row(
                "\(count) idle: watchdogd", count: 1, median: try daemon.proportionalMemory(),
                goal: count == 1_000 ? Page.Goal(median: 15) : nil)
            daemon.end()
            peers.memory(count, on: &page)
        }
    }

    private func processorTime(on page: inout Page) throws {
        page.begin("CPU time of the daemon", unit: "%")
        let idle = try Daemon(bench)
        try idle.configure(1_000, settings())
        try begin(1_000, of: idle)
        page.row(
            "1000 idle", count: 1, median: try share(of: idle, over: .seconds(5)), goal: Page.Goal(median: 0.1))
        idle.end()
        for count in [500, 2_000, 10_000] {
            do {
                try pings(count, on: &page)
            } catch {
                let limit = try? ResourceLimit.current(.openFiles)
                page.note("\(count) pinged: \(error) (descriptors that a process may have: \(limit?.hard ?? 0))")
            }
        }
    }

    private func pings(_ count: Int, on page: inout Page) throws {
        let daemon = try Daemon(bench)
        defer { daemon.end() }
        try daemon.configure(count, settings("answer"))
        try begin(count, of: daemon)
        let used = try share(of: daemon, over: .seconds(10))
        page.row(
            "\(count) pinged each second", count: 1, median: used, goal: count == 500 ? Page.Goal(median: 1) : nil)
        page.row("\(count) pinged each second, per 500", count: 1, median: used * 500 / Double(count))
    }

    private func begin(_ count: Int, of daemon: Daemon) throws {
        let reload = try AsynchronousReload(try daemon.client)
        for _ in 0..<count { _ = try daemon.nextRecord() }
        try reload.finish()
        sleep(2)
    }

    private func share(of daemon: Daemon, over time: Duration) throws -> Double {
        let (before, started) = (daemon.cpuTime, Instant.now())
        usleep(UInt32(time.nanoseconds / 1_000))
        return (daemon.cpuTime - before).milliseconds / (Instant.now() - started).milliseconds * 100
    }
}

/// A reload whose answer is read later: services already run when it comes, and their records have to be read.
// SAFETY: the thread alone writes `failure`, and joining it orders that before the read; the rest does not change.
final class AsynchronousReload: @unchecked Sendable {
    private var thread = pthread_t()
    private let client: ControlClient
    private var failure: (any Error)?

    init(_ client: ControlClient) throws {
        self.client = client
        let retained = Unmanaged.passRetained(self).toOpaque()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let reload = Unmanaged<AsynchronousReload>.fromOpaque(argument).takeRetainedValue()
                do {
                    _ = try reload.client.reload()
                } catch {
                    reload.failure = error
                }
                return nil
            }, retained)
        guard code == 0 else { throw Failure("no thread for a request") }
    }

    func finish() throws {
        pthread_join(thread, nil)
        if let failure { throw failure }
    }
}
