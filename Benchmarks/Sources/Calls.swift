// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogControl
import WatchdogLinux
import WatchdogVerdict

/// Calls that wait, from a process of its own, and messages of many services.
struct Calls {
    private static let repetitions = 3
    private static let singles = 40
    private static let pushers = 500

    let bench: Bench

    func run(on page: inout Page) throws {
        for count in [50, 500] {
            page.begin("\(count) launches that wait for READY=1, one connection")
            page.row("one after the other", try launches(count, isAtOnce: false))
            page.row("sent at once", try launches(count, isAtOnce: true))
        }
        try ready(on: &page)
    }

    private func file(_ mode: String, isEnabled: Bool) -> String {
        bench.notifyingService(mode, "[Watchdog]\nUpdate=10s\n[App]\nEnabled=\(isEnabled ? "yes" : "no")\n")
    }

    /// Each time with a daemon that has launched nothing yet.
    private func launches(_ count: Int, isAtOnce: Bool) throws -> Sample {
        var sample = Sample()
        for _ in 0..<Self.repetitions {
            let daemon = try Daemon(bench)
            try daemon.configure(count, file("notify", isEnabled: false))
            _ = try daemon.client.reload()
            sample.add(try wait(for: count, of: daemon, isAtOnce: isAtOnce))
            daemon.end()
        }
        return sample
    }

    private func wait(
        for count: Int, of daemon: Daemon, _ prefix: String = "service", isAtOnce: Bool
    ) throws -> Duration {
        let client = try RequestingClient(
            bench, ["wait", daemon.control, prefix, "\(count)"] + (isAtOnce ? ["all"] : []))
        let duration = try client.waited()
        for _ in 0..<count { _ = try daemon.nextRecord() }
        return duration
    }

    /// One launch that waits, alone and beside services that send WATCHDOG=1; and what these cost.
    private func ready(on page: inout Page) throws {
        page.begin("A launch that waits for READY=1")
        let daemon = try Daemon(bench)
        defer { daemon.end() }
        try daemon.configure(1, prefix: "single", file("notify", isEnabled: false))
        _ = try daemon.client.reload()
        page.row("alone", try singles(of: daemon))
        try daemon.configure(Self.pushers, file("push", isEnabled: true))
        let reload = try AsynchronousReload(try daemon.client)
        for _ in 0..<Self.pushers { _ = try daemon.nextRecord() }
        try reload.finish()
        // Until nothing but signs of life has come of any for a while.
        sleep(15)
        page.row("beside \(Self.pushers) WATCHDOG=1 a second", try singles(of: daemon))
        let (before, started) = (daemon.cpuTime, Instant.now())
        sleep(10)
        let share = (daemon.cpuTime - before).milliseconds / (Instant.now() - started).milliseconds * 100
        page.begin("CPU time of the daemon", unit: "%")
        page.row("\(Self.pushers) WATCHDOG=1 a second", count: 1, median: share)
    }

    private func singles(of daemon: Daemon) throws -> Sample {
        var sample = Sample()
        for _ in 0..<Self.singles {
            sample.add(try wait(for: 1, of: daemon, "single", isAtOnce: false))
            _ = try daemon.client.terminate(AppRequest("single0", waits: true))
        }
        return sample
    }
}
