// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

/// From the decision to kill to the reaped process, with the stacks of all threads taken before.
struct Capture {
    private static let count = 50
    /// A thousand threads take half a second to start.
    private static let crowds = 5
    private static let processes = 10
    private static let threadsPerProcess = 8

    let bench: Bench

    func run(on page: inout Page) throws {
        page.begin("Decision to reaped, all stacks taken")
        let thread = try CaptureThread()
        defer { thread.shutDown() }
        for threads in [1, 31, 1_000] {
            let count = threads > 31 ? Self.crowds : Self.count
            var bare = Sample()
            var full = Sample()
            var frozen = Sample()
            for _ in 0..<count {
                bare.add(try bareKill(threads))
                let (time, snapshot) = try snapshotAndKill(threads, thread)
                full.add(time)
                frozen.add(snapshot.timings.frozen)
            }
            let name = threads == 1 ? "1 thread" : "\(threads) threads"
            page.row("\(name): bare SIGKILL", bare)
            page.row("\(name): snapshot, then SIGKILL", full, goal: threads == 31 ? Page.Goal(median: 6) : nil)
            page.row("\(name): of which frozen", frozen, goal: Page.Goal(median: threads > 31 ? 100 : 1))
        }
        try tree(on: &page, thread)
        try looks(on: &page)
        try stops(on: &page)
    }

    /// The processes of one app: how long they are stopped, all together.
    private func tree(on page: inout Page, _ thread: CaptureThread) throws {
        var frozen = Sample()
        for _ in 0..<Self.count {
            let subjects = try (0..<Self.processes).map { _ in
                try Subject(bench.subject("blocked"), ["\(Self.threadsPerProcess)"])
            }
            let members = TreeMembers.listed(subjects.compactMap { ProcessStat.read($0.process.pid) })
            let box = SnapshotBox()
            let options = SnapshotOptions(
                pidfd: subjects[0].process.descriptor.number, startTime: subjects[0].startTime, ending: .kill())
            thread.capture(
                subjects[0].process.pid, of: .bench, with: members, preferring: [], options, completion: box.put)
            let main = try withExtendedLifetime(subjects) { try box.take() }
            let snapshots = [main] + box.others.members.compactMap(\.snapshot)
            guard snapshots.count == Self.processes else { throw Failure("\(snapshots.count) processes were captured") }
            frozen.add(snapshots.reduce(.zero) { $0 + $1.timings.frozen })
        }
        page.row(
            "\(Self.processes) processes of \(Self.threadsPerProcess): frozen", frozen, goal: Page.Goal(median: 10))
    }

    /// Samples that stop nothing, as taken of a main loop that does not answer: CPU time of one whole sample.
    private func looks(on page: inout Page) throws {
        let subject = try Subject(bench.subject("blocked"), ["31"])
        let seats = ThreadSeats(limits: StuckWaits.Limits(app: 1, user: 1, all: 1))
        let seat = try seats.take(for: .bench, at: .now()).get()
        let session = try SamplingSession(
            of: subject.process.pid,
            SamplingOptions(interval: .milliseconds(10), duration: .seconds(3)), seat: seat, onFirstLook: {}, onLook: {}
        )
        usleep(2_500_000)
        session.stop()
        let hasEnded = DispatchSemaphore(value: 0)
        session.whenEnded { hasEnded.signal() }
        _ = hasEnded.wait(timeout: .now() + 10)
        guard case .success(let sampling)? = session.result, sampling.sampleCount > 100 else {
            throw Failure("the looks failed")
        }
        page.row(
            "31 threads: CPU of a sample", count: sampling.sampleCount,
            median: sampling.cost.milliseconds / Double(sampling.sampleCount), goal: Page.Goal(median: 1))
    }

    /// How long a thread on a CPU is stopped for its stack, at most, while the program lives on.
    private func stops(on page: inout Page) throws {
        let spinner = try Spinner(bench)
        let sampling = try Sampling.take(
            of: spinner.process.pid, SamplingOptions(interval: .milliseconds(10), duration: .seconds(5)))
        guard sampling.stopCount > 100 else { throw Failure("it was stopped \(sampling.stopCount) times") }
        page.row(
            "a look at a thread on a CPU: longest stop", count: sampling.stopCount,
            median: sampling.longestStop.milliseconds, goal: Page.Goal(median: 1))
        withExtendedLifetime(spinner) {}
    }

    private func bareKill(_ threads: Int) throws -> Duration {
        let subject = try Subject(bench.subject("blocked"), ["\(threads)"])
        let decided = Instant.now()
        try subject.process.send(SIGKILL)
        return try subject.waitUntilReaped() - decided
    }

    private func snapshotAndKill(_ threads: Int, _ thread: CaptureThread) throws -> (Duration, Snapshot) {
        let subject = try Subject(bench.subject("blocked"), ["\(threads)"])
        let box = SnapshotBox()
        let options = SnapshotOptions(
            pidfd: subject.process.descriptor.number, startTime: subject.startTime, ending: .kill())
        let decided = Instant.now()
        if let refusal = thread.capture(subject.process.pid, of: .bench, options, completion: box.put) {
            throw Failure("the capture was refused: \(refusal)")
        }
        let reaped = try subject.waitUntilReaped()
        let snapshot = try box.take()
        guard snapshot.method == .ptrace, snapshot.threadCount == threads else {
            throw Failure("the snapshot is not whole: \(snapshot.methodReason ?? "\(snapshot.threadCount) threads")")
        }
        return (reaped - decided, snapshot)
    }

    /// A snapshot of a program with this many threads.
    func snapshot(threads: Int) throws -> Snapshot {
        let thread = try CaptureThread()
        defer { thread.shutDown() }
        return try snapshotAndKill(threads, thread).1
    }
}

extension Tenant {
    /// Whose captures all are here.
    fileprivate static let bench = Tenant(app: "bench", user: getuid())
}

/// A snapshot on its way from the capture thread.
private final class SnapshotBox: Sendable {
    private let result = Mutex<(main: Result<Snapshot, SnapshotError>, others: TreeSnapshot)?>(nil)

    /// The snapshots of the other processes.
    var others: TreeSnapshot { result.withLock { $0?.others } ?? TreeSnapshot() }

    @Sendable
    func put(_ value: Result<Snapshot, SnapshotError>) {
        put(value, TreeSnapshot())
    }

    @Sendable
    func put(_ main: Result<Snapshot, SnapshotError>, _ others: TreeSnapshot) {
        result.withLock { $0 = (main, others) }
    }

    func take() throws -> Snapshot {
        for _ in 0..<10_000 {
            if let value = result.withLock({ $0 }) { return try value.main.get() }
            usleep(100)
        }
        throw Failure("the snapshot did not end")
    }
}
