// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// The cost of starting a program with `watchdogd run`.
struct Startup {
    private static let count = 60

    let bench: Bench

    func run(on page: inout Page) throws {
        page.begin("Start to first instruction")
        let stamp = bench.subject("stamp")
        var direct = Sample()
        var supervised = Sample()
        for _ in 0..<Self.count {
            direct.add(try start(stamp, []))
            supervised.add(try start(bench.watchdogd, ["run", "--quiet", "--reports", bench.reports, "--", stamp]))
        }
        page.row("the program itself", direct)
        page.row("watchdogd run -- program", supervised, goal: Page.Goal(median: 10))
        try memory(on: &page)
    }

    private func start(_ program: String, _ arguments: [String]) throws -> Duration {
        let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
        let started = Instant.now()
        let pid = try posixSpawn(program, arguments, output: writeEnd.number)
        let record = try Record.read(from: readEnd)
        waitpid(pid, nil, 0)
        return record.time - started
    }

    private func memory(on page: inout Page) throws {
        page.begin("Memory of a supervisor while it waits", unit: "MB")
        let subject = try Subject(bench.subject("hang"))
        try add("the program that it supervises: PSS", subject.process.pid, "Pss:", nil, to: &page)
        let watcher = Watcher()
        let run = try SupervisedRun(
            bench, watcher, options: ["--readiness", "none"], command: [bench.subject("hang"), "0", "0"])
        try watcher.run(for: "a start under watchdogd") { run.records.contains { $0.kind == .settled } }
        // What only the start needed is given back after three seconds.
        sleep(4)
        try add("watchdogd run: RSS", run.supervisor.pid, "Rss:", 15, to: &page)
        try add("watchdogd run: PSS", run.supervisor.pid, "Pss:", nil, to: &page)
        try run.supervisor.send(SIGTERM)
        try watcher.run(for: "the end of watchdogd") { run.isOver }
    }

    private func add(_ label: String, _ pid: Int32, _ key: String, _ goal: Double?, to page: inout Page) throws {
        let line = Machine.lines(of: "/proc/\(pid)/smaps_rollup").first { $0.hasPrefix(key) }
        guard let line, let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) else {
            throw Failure("/proc/\(pid)/smaps_rollup cannot be read")
        }
        page.row(label, count: 1, median: kilobytes / 1024, goal: goal.map { Page.Goal(median: $0) })
    }
}
