// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy

/// Many services of one daemon: how fast they come, come back and obey, and what they cost.
struct Services {
    private static let repetitions = 60

    let bench: Bench

    func run(on page: inout Page) throws {
        try launch(on: &page)
        try restart(on: &page)
        try command(on: &page)
        try cost(on: &page)
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

    private func launch(on page: inout Page) throws {
        page.begin("Services at once: request to the last one's first instruction")
        for count in [1, 100, 500] {
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
            page.row(
                "\(count) service\(count == 1 ? "" : "s"), configuration read", sample,
                goal: count == 500 ? Page.Goal(median: 150) : nil)
        }
    }

    // MARK: - One

    private func restart(on page: inout Page) throws {
        page.begin("kill -9 to the next instance's first instruction")
        let daemon = try Daemon(bench)
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
        page.row("no wait is due", sample, goal: Page.Goal(median: 0.8))
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

    // MARK: - Many

    private func cost(on page: inout Page) throws {
        page.begin("The daemon's memory and CPU time", unit: "MB, %")
        let daemon = try Daemon(bench)
        page.row("no service: PSS", count: 1, median: try daemon.proportionalMemory())
        try daemon.configure(1_000, settings())
        try begin(1_000, of: daemon)
        page.row("1,000 idle: PSS", count: 1, median: try daemon.proportionalMemory(), goal: Page.Goal(median: 15))
        page.row(
            "1,000 idle: CPU", count: 1, median: try share(of: daemon, over: .seconds(5)),
            goal: Page.Goal(median: 0.1))
        daemon.end()
        for count in [500, 2_000, 10_000] {
            let daemon = try Daemon(bench)
            try daemon.configure(count, settings("answer"))
            try begin(count, of: daemon)
            let used = try share(of: daemon, over: .seconds(10))
            page.row(
                "\(count) pinged each second: CPU", count: 1, median: used,
                goal: count == 500 ? Page.Goal(median: 1) : nil)
            page.row("\(count) pinged each second: CPU per 500", count: 1, median: used * 500 / Double(count))
            daemon.end()
        }
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
private final class AsynchronousReload: @unchecked Sendable {
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
