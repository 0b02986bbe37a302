// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase
import WatchdogCapture
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("Omissions when time runs out", .reapsChildren)
struct TimeOrderTests {
    /// A clock that stands at the start until the budget has been made, and then advances with each reading.
    private final class Clock {
        private var next: Instant
        private let step: Duration
        private(set) var looks = 0

        init(after elapsed: Duration = .zero, step: Duration = .zero) {
            next = start + elapsed
            self.step = step
        }

        func look() -> Instant {
            looks += 1
            guard looks > 1 else { return start }
            defer { next = next + step }
            return next
        }
    }

    private static let start = Instant(nanoseconds: 1_000)
    private static let budget = Duration.seconds(1_000)

    private func run(_ snapshot: Snapshot, _ clock: Clock) throws -> CapturedProcess {
        let attempt = Attempt(depth: .names, deadline: Self.start + Self.budget)
        let contents = try snapshot.contents()
        var run = try #require(
            SymbolicationRun(contents, modules: snapshot.modules, attempt: attempt, now: clock.look))
        return run.perform()
    }

    private func snapshot() throws -> Snapshot {
        let process = try Subject.chain.start(threads: 2)
        return try Snapshot.take(of: process.id, SnapshotOptions(stopTimeout: patience))
    }

    @Test("names of some threads never cost the others their addresses")
    func addressesFirst() throws {
        let snapshot = try snapshot()
        let idle = Clock()
        let whole = try run(snapshot, idle)
        #expect(whole.shortage == nil)
        // Each frame is visited twice: for its address and for its name. The time for stacks ends among the names.
        let step = Self.budget * 0.8 / (Double(idle.looks) * 0.6)
        let late = try run(snapshot, Clock(step: step))
        #expect(late.shortage == "time ran out")
        #expect(late.notes.contains("time ran out: later frames have no names"))
        #expect(late.threads.map { $0.frames.machineAddresses } == whole.threads.map { $0.frames.machineAddresses })
        #expect(late.threads.last?.frames.allSatisfy { $0.symbol == nil } == true)
    }

    @Test("a frame has a name just before the end of the time for names, and only an address just after it")
    func names() throws {
        let snapshot = try snapshot()
        let early = try run(snapshot, Clock(after: Self.budget * 0.7 - .nanoseconds(1)))
        #expect(early.shortage == nil)
        #expect(try early.main.frames.names.contains("innermost"))
        let late = try run(snapshot, Clock(after: Self.budget * 0.7))
        #expect(late.shortage == "time ran out")
        #expect(try late.main.frames.allSatisfy { $0.symbol == nil })
        #expect(try late.main.frames.machineAddresses == early.main.frames.machineAddresses)
    }

    @Test("a frame has an address just before the end of the time for stacks, and none just after it")
    func stacks() throws {
        let snapshot = try snapshot()
        let early = try run(snapshot, Clock(after: Self.budget * 0.8 - .nanoseconds(1)))
        #expect(early.threads.allSatisfy { $0.frames.count > 1 })
        let late = try run(snapshot, Clock(after: Self.budget * 0.8))
        #expect(late.threads.allSatisfy { $0.frames.isEmpty })
        #expect(late.notes.contains("time ran out: later stacks are missing"))
        #expect(late.shortage == "time ran out")
    }
}
