// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogVerdict

/// What many services that send READY=1 cost their daemon.
struct Crowd {
    let bench: Bench

    func run(on page: inout Page) throws {
        try pushes(beside: Peers(bench, on: &page), on: &page)
        try memory(on: &page)
        try descriptors(on: &page)
    }

    private func pushes(beside peers: Peers, on page: inout Page) throws {
        let count = 500
        page.begin("\(count) push WATCHDOG=1 each second: CPU", unit: "%")
        let daemon = try Daemon(bench)
        try daemon.configure(count, bench.notifyingService("push"))
        try begin(count, of: daemon)
        let share = try ProcessorClock(of: daemon.process.pid).share(over: .seconds(10))
        page.row("watchdogd", count: 1, median: share, goal: Page.Goal(median: 1))
        page.note("\((share * 10_000 / Double(count)).decimal(1)) µs for each message.")
        daemon.end()
        peers.pushes(count, on: &page)
    }

    private func memory(on page: inout Page) throws {
        page.begin("1000 idle that send READY=1: PSS", unit: "MB")
        let fresh = try Daemon(bench)
        try fresh.configure(1_000, bench.notifyingService())
        try begin(1_000, of: fresh)
        sleep(8)
        page.row("a fresh watchdogd", count: 1, median: try fresh.proportionalMemory())
        fresh.end()
        let used = try Daemon(bench)
        try used.configure(500, prefix: "other", bench.notifyingService())
        try begin(500, of: used)
        let client = try used.client
        for index in 0..<500 { _ = try client.terminate(AppRequest("other\(index)")) }
        for index in 0..<500 { _ = try? client.terminate(AppRequest("other\(index)", waits: true)) }
        try used.remove(500, prefix: "other")
        try used.configure(1_000, bench.notifyingService())
        try begin(1_000, of: used)
        sleep(8)
        page.row(
            "one that has ended 500 others", count: 1, median: try used.proportionalMemory(),
            goal: Page.Goal(median: 15))
        used.end()
    }

    private func descriptors(on page: inout Page) throws {
        page.begin("Descriptors of the daemon", unit: "")
        let daemon = try Daemon(bench, isHeard: false)
        let none = try daemon.descriptorCount()
        page.row("no service", count: 1, median: Double(none))
        try daemon.configure(100, bench.notifyingService())
        try begin(100, of: daemon)
        page.row(
            "each idle service", count: 100, median: Double(try daemon.descriptorCount() - none) / 100,
            goal: Page.Goal(median: 2))
        let wanted = 10_000
        try daemon.configure(wanted - 100, prefix: "more", bench.notifyingService())
        let client = try RequestingClient(bench, ["reload", daemon.control])
        var count = 100
        while count < wanted, (try? daemon.nextRecord(patience: .seconds(10))) != nil { count += 1 }
        page.row("services that run, of \(wanted)", right: count, of: wanted, atLeast: wanted)
        daemon.end()
        withExtendedLifetime(client) {}
    }

    private func begin(_ count: Int, of daemon: Daemon) throws {
        let client = try RequestingClient(bench, ["reload", daemon.control])
        for _ in 0..<count { _ = try daemon.nextRecord() }
        _ = try client.requestedAt()
        sleep(2)
    }
}

/// The CPU time of all threads of a process, to the nanosecond.
struct ProcessorClock {
    private let clock: clockid_t

    init(of pid: Int32) throws {
        var clock = clockid_t()
        guard clock_getcpuclockid(pid, &clock) == 0 else { throw Failure("process \(pid) has no clock") }
        self.clock = clock
    }

    /// In percent of one core.
    func share(over time: Duration) throws -> Double {
        let (before, started) = (reading, Instant.now())
        usleep(UInt32(time.nanoseconds / 1_000))
        return Double(reading - before) / Double((Instant.now() - started).nanoseconds) * 100
    }

    private var reading: Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
