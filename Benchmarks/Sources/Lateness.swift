// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

/// How late a program dies whose allowance is exhausted.
struct Lateness {
    private static let allowance = Duration.milliseconds(100)
    private static let goal = Page.Goal(median: 1, p99: 5)

    let bench: Bench

    /// Lateness of many kills.
    private struct Samples {
        var decision = Sample()
        var kill = Sample()
        var death = Sample()
        var rebased = 0
    }

    func run(on page: inout Page) throws {
        page.begin("Deadline to SIGKILL: how late")
        if case .none = bench.scheduling.kind {
            page.note("without real-time priority, which root has, everything waits its turn for a CPU")
        }
        page.row("exact timer, bare SIGKILL: dead", try bareKills(100))
        add(try alone(100), "alone", to: &page)
        add(try amongTen(rounds: 10), "10 apps", to: &page)
        let spinners = try (0..<8).map { _ in try Spinner(bench) }
        page.row("8 spinners, exact timer: dead", try bareKills(100))
        add(try alone(100), "8 spinners", to: &page)
        withExtendedLifetime(spinners) {}
    }

    private func add(_ samples: Samples, _ name: String, to page: inout Page) {
        page.row("\(name): decided", samples.decision)
        page.row("\(name): SIGKILL has come", samples.kill, goal: Self.goal)
        page.row("\(name): program dead", samples.death)
        if samples.rebased > 0 {
            page.note("\(samples.rebased) more: allowance started anew, watchdogd itself got no CPU in time")
        }
    }

    /// The possible minimum: sleep until an exact time, send SIGKILL, see the end.
    private func bareKills(_ count: Int) throws -> Sample {
        var sample = Sample()
        for _ in 0..<count {
            let subject = try Subject(bench.subject("hang"))
            let deadline = Instant.now() + .milliseconds(10)
            var time = timespec(
                tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
            clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &time, nil)
            try subject.process.send(SIGKILL)
            var entry = pollfd(fd: subject.process.descriptor.number, events: Int16(POLLIN), revents: 0)
            poll(&entry, 1, -1)
            sample.add(.now() - deadline)
        }
        return sample
    }

    private func alone(_ count: Int) throws -> Samples {
        var samples = Samples()
        for _ in 0..<count {
            let watcher = Watcher()
            let run = try start(watcher, signs: 2)
            try watcher.run(for: "a hang under watchdogd") { run.isOver }
            try judge(run, into: &samples)
        }
        return samples
    }

    /// Ten supervisors and ten apps; the apps hang one after the other, while the others still give signs of life.
    private func amongTen(rounds: Int) throws -> Samples {
        var samples = Samples()
        for _ in 0..<rounds {
            let watcher = Watcher()
            let runs = try (0..<10).map { try start(watcher, signs: 5 + 2 * $0) }
            try watcher.run(for: "ten hangs under watchdogd") { runs.allSatisfy(\.isOver) }
            for run in runs { try judge(run, into: &samples) }
        }
        return samples
    }

    private func start(_ watcher: Watcher, signs: Int) throws -> SupervisedRun {
        try SupervisedRun(
            bench, watcher,
            options: ["--readiness", "notify", "--update", "\(Self.allowance.nanoseconds / 1_000_000)ms"],
            command: [bench.subject("hang"), "\(signs)", "20000"])
    }

    private func judge(_ run: SupervisedRun, into samples: inout Samples) throws {
        let details = try run.report()
        guard !details.notes.contains(where: { $0.contains("was restarted") }) else {
            samples.rebased += 1
            return
        }
        let allowance = details.allowance
        let extra = allowance.postponement
        let last = try run.records.last { $0.kind == .signOfLife }.unwrapped(or: "the program gave no sign of life")
        let death = try run.deathSeen.unwrapped(or: "the program's end was not seen")
        samples.decision.add(.nanoseconds(allowance.elapsedNanoseconds) - Self.allowance - extra)
        samples.kill.add(
            try run.witnessDeathSeen.unwrapped(or: "the witness's end was not seen") - last.time - Self.allowance
                - extra)
        samples.death.add(death - last.time - Self.allowance - extra)
    }
}

/// A program that uses all the CPU time it gets.
final class Spinner {
    let process: Pidfd

    init(_ bench: Bench) throws {
        process = try spawn(.underTest(bench.subject("spin"), [], output: 1)).process
    }

    deinit {
        try? process.send(SIGKILL)
        var entry = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 1_000)
        _ = try? process.waitExit()
    }
}
