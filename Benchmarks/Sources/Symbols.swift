// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

/// From snapshots to names and lines, compared with what debuggers need for it.
struct Symbols {
    private static let threads = 31

    let bench: Bench

    func run(on page: inout Page) throws {
        page.begin("Stacks of 31 threads, with names")
        let subject = try Subject(bench.subject("blocked"), ["\(Self.threads)"])
        let pid = "\(subject.process.pid)"
        try tool("eu-stack", ["-p", pid], "eu-stack -p, names only", 7, on: &page)
        try tool("eu-stack", ["-i", "-s", "-p", pid], "eu-stack -i -s -p, with lines", 7, on: &page)
        try tool(
            "gdb", ["-nx", "-batch", "-ex", "thread apply all bt", "-p", pid], "gdb -batch, with lines", 5,
            on: &page)
        page.row("stage 2: names, lines, demangled", try stageTwo(15))
        try wholeReports(20, on: &page)
    }

    private func tool(
        _ program: String, _ arguments: [String], _ label: String, _ count: Int, on page: inout Page
    ) throws {
        guard let path = try? resolveExecutable(program, path: getenv("PATH").map { String(cString: $0) } ?? "") else {
            return page.note("\(label): skipped, \(program) is not installed")
        }
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        var sample = Sample()
        for _ in 0..<count {
            var request = SpawnRequest.underTest(path, arguments, output: null.number, messages: null.number)
            // Without it both ask servers on the network.
            request.environment["DEBUGINFOD_URLS"] = nil
            let started = Instant.now()
            let process = try spawn(request).process
            var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
            poll(&entry, 1, -1)
            sample.add(.now() - started)
            _ = try process.waitExit()
        }
        page.row(label, sample)
    }

    /// As `watchdogd` does it: a fresh helper process without privileges, JSON back.
    private func stageTwo(_ count: Int) throws -> Sample {
        let symbolicator = Symbolicator(program: bench.symbolicate)
        let snapshot = try Capture(bench: bench).snapshot(threads: Self.threads)
        var sample = Sample()
        for _ in 0..<count {
            let started = Instant.now()
            let process = try symbolicator.run(snapshot)
            sample.add(.now() - started)
            let frames = process.threads.flatMap(\.frames)
            guard process.threads.count == Self.threads,
                frames.contains(where: { $0.symbol?.contains("block") == true })
            else { throw Failure("the stacks have no names") }
        }
        return sample
    }

    /// A program that does not get ready, under `watchdogd`: from its end to the report on disk.
    private func wholeReports(_ count: Int, on page: inout Page) throws {
        var verified = Sample()
        var complete = Sample()
        for _ in 0..<count {
            let watcher = Watcher()
            let run = try SupervisedRun(
                bench, watcher, options: ["--readiness", "notify", "--launch", "150ms"],
                command: [bench.subject("blocked"), "\(Self.threads)"])
            try watcher.run(for: "a report") { run.isOver }
            let details = try run.report()
            verified.add(.nanoseconds(try details.kill.nanoseconds.unwrapped(or: "no verified death")))
            let death = try run.deathSeen.unwrapped(or: "the program's end was not seen")
            complete.add(try run.reportSaid.unwrapped(or: "no report") - death)
        }
        page.row("watchdogd: decision to verified end", verified)
        page.row("watchdogd: end to report on disk", complete, goal: Page.Goal(median: 100))
    }
}
