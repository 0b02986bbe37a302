// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// From a ping to its answer by the main loop of an app that does nothing else.
struct Pings {
    private static let count = 200
    private static let interval = Duration.milliseconds(20)

    let bench: Bench

    func run(on page: inout Page) throws {
        page.begin("Ping to answer, idle app")
        page.row("bare echo in C over the same socket", try echo())
        let watcher = Watcher()
        let run = try SupervisedRun(
            bench, watcher, options: ["--ping", "\(Self.interval.nanoseconds / 1_000_000)ms"],
            command: [bench.healthyApp, "--run-for", "\(Double(Self.count + 5) * Self.interval.milliseconds / 1000)"])
        try watcher.run(for: "the pings") { run.isOver }
        let pings = try run.summary().pings
        page.row(
            "main loop, Watchdog library", count: pings.count,
            median: try pings.p50Milliseconds.unwrapped(or: "no ping was answered: \(run.message)"),
            p99: pings.p99Milliseconds, goal: Page.Goal(median: 0.2))
    }

    private func echo() throws -> Sample {
        let (ours, theirs) = try Channel.pair()
        var request = SpawnRequest.underTest(bench.subject("echo"), [], output: 1)
        request.descriptors.append(.init(theirs.number, as: 3))
        let process = try spawn(request).process
        defer {
            try? process.send(SIGKILL)
            var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
            poll(&entry, 1, 1_000)
            _ = try? process.waitExit()
        }
        var sample = Sample()
        for _ in 0..<Self.count {
            usleep(UInt32(Self.interval.nanoseconds / 1_000))
            let sent = Instant.now()
            _ = try ours.send(Array("PING=1\n".utf8))
            var entry = pollfd(fd: ours.descriptor.number, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 1_000) == 1 else { throw Failure("the echo does not answer") }
            _ = try ours.receive()
            sample.add(.now() - sent)
        }
        return sample
    }
}
