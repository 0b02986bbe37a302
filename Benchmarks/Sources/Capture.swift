// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// From the decision to kill to the reaped process, with the stacks of all threads taken before.
struct Capture {
    private static let count = 50
    /// A thousand threads take half a second to start.
    private static let crowds = 5

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
        try looks(on: &page)
    }

    /// Looks that stop nothing, as they are taken of a main loop that does not answer: CPU time of the whole look.
    private func looks(on page: inout Page) throws {
        let subject = try Subject(bench.subject("blocked"), ["31"])
        let session = try SamplingSession(
            of: subject.process.pid,
            SamplingOptions(interval: .milliseconds(10), duration: .seconds(3)), onFirstLook: {}, onLook: {})
        usleep(2_500_000)
        session.stop()
        guard case .success(let sampling)? = session.result(within: .seconds(10)), sampling.sampleCount > 100 else {
            throw Failure("the looks failed")
        }
        page.row(
            "31 threads: CPU of a look", count: sampling.sampleCount,
            median: sampling.cost.milliseconds / Double(sampling.sampleCount), goal: Page.Goal(median: 1))
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
        guard thread.capture(subject.process.pid, options, completion: box.put) else {
            throw Failure("the capture was refused")
        }
        let reaped = try subject.waitUntilReaped()
        let snapshot = try box.take()
        guard snapshot.method == .ptrace, snapshot.threadCount == threads else {
            throw Failure("the snapshot is not whole: \(snapshot.methodReason ?? "\(snapshot.threadCount) threads")")
        }
        return (reaped - decided, snapshot)
    }

    /// A snapshot of a program of so many threads.
    func snapshot(threads: Int) throws -> Snapshot {
        let thread = try CaptureThread()
        defer { thread.shutDown() }
        return try snapshotAndKill(threads, thread).1
    }
}

/// A snapshot on its way from the capture thread.
private final class SnapshotBox: Sendable {
    private let result = Mutex<Result<Snapshot, SnapshotError>?>(nil)

    @Sendable
    func put(_ value: Result<Snapshot, SnapshotError>) {
        result.withLock { $0 = value }
    }

    func take() throws -> Snapshot {
        for _ in 0..<10_000 {
            if let value = result.withLock({ $0 }) { return try value.get() }
            usleep(100)
        }
        throw Failure("the snapshot did not end")
    }
}
