// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// A counter for events on other threads.
private final class Tally: Sendable {
    private let count = Locked(0)

    func signal() { count.withLock { $0 += 1 } }

    /// Waits for this many signals, and consumes them.
    func wait(_ number: Int = 1) throws {
        let haveCome = eventually {
            count.withLock { count in
                guard count >= number else { return false }
                count -= number
                return true
            }
        }
        try #require(haveCome, "nothing happened in time")
    }
}

/// Blocks calls until it is opened.
private final class Gate: Sendable {
    private let semaphore = PosixSemaphore()
    private let entered = Tally()

    func pass() {
        entered.signal()
        semaphore.wait()
    }

    func awaitEntry(_ number: Int = 1) throws { try entered.wait(number) }
    func open(_ count: Int = 1) { for _ in 0..<count { semaphore.signal() } }
}

@Suite("Calls that may never return")
struct BlockingTests {
    // MARK: - Threads

    @Test("a stuck lane does not block others, and accepts calls up to its bound")
    func lanes() throws {
        let threads = BlockingThreads(.init(threads: 8, threadsPerLane: 2, callsPerLane: 3))
        let gate = Gate()
        let done = Tally()
        for _ in 0..<2 { #expect(threads.run(in: 1) { gate.pass() }) }
        try gate.awaitEntry(2)
        #expect(threads.run(in: 1) { done.signal() })
        #expect(!threads.hasRoom(in: 1))
        #expect(!threads.run(in: 1) { Issue.record("a refused call ran") })
        #expect(threads.hasRoom(in: 2))
        #expect(threads.run(in: 2) { done.signal() })
        try done.wait()
        // A call that may not be rejected waits instead.
        #expect(threads.run(in: 1, isRefusable: false) { done.signal() })
        #expect(threads.callCount >= 4)
        gate.open(2)
        try done.wait(2)
    }

    @Test("the number of stuck threads is bounded, and one that returns serves waiting calls")
    func bound() throws {
        let threads = BlockingThreads(.init(threads: 2, threadsPerLane: 1, callsPerLane: 4))
        let gate = Gate()
        let done = Tally()
        for lane in 1...2 { #expect(threads.run(in: lane) { gate.pass() }) }
        try gate.awaitEntry(2)
        #expect(threads.run(in: 3) { done.signal() })
        #expect(threads.callCount == 3)
        gate.open()
        try done.wait()
        gate.open()
    }

    /// Siblings: several users that do so, a user with one lane, and lanes without an owner.
    @Test("a user with many stuck apps leaves threads to others, and so do several such users")
    func owners() throws {
        let threads = BlockingThreads(.init(threads: 64, threadsPerLane: 2, callsPerLane: 16))
        let gate = Gate()
        let done = Tally()
        var stuck = 0
        for (number, most) in [32, 16, 8, 4].enumerated() {
            let owner = "user \(number)"
            // 32 apps with two calls each.
            for call in 0..<64 {
                threads.run(in: 1_000 * number + call / 2, of: owner) { gate.pass() }
            }
            try gate.awaitEntry(most)
            stuck += most
            #expect(threads.run(in: -1 - number, of: "another \(number)") { done.signal() })
            try done.wait()
            #expect(threads.run(in: -100) { done.signal() }, "of nobody in particular")
            try done.wait()
        }
        #expect(stuck == 60)
        // Waiting calls run when others return.
        gate.open(4 * 64)
        try gate.awaitEntry(4 * 64 - stuck)
        #expect(eventually { threads.callCount == 0 })
    }

    @Test("each of many calls runs once")
    func many() throws {
        let threads = BlockingThreads(.init(threads: 4, threadsPerLane: 2, callsPerLane: 1_000))
        let count = Locked(0)
        let done = Tally()
        for call in 0..<2_000 {
            threads.run(in: call % 7) {
                count.withLock { $0 += 1 }
                done.signal()
            }
        }
        try done.wait(2_000)
        #expect(count.withLock { $0 } == 2_000)
    }

    // MARK: - Work with a deadline

    private func turn(_ loop: EventLoop, until condition: () -> Bool) throws {
        let end = Instant.now() + patience
        while !condition() {
            try #require(Instant.now() < end, "nothing happened in time")
            _ = try loop.runOnce(limit: .seconds(1))
        }
    }

    @Test("a call that returns in time delivers its result")
    func inTime() throws {
        let loop = try EventLoop()
        let work = try BlockingWork(on: loop)
        var result: Int?
        work.run(in: 1, within: patience) {
            42
        } then: {
            result = $0
        }
        #expect(result == nil)
        try turn(loop) { result != nil }
        #expect(result == 42)
    }

    @Test("a call that exceeds its deadline has no result, even when it returns later")
    func late() throws {
        let loop = try EventLoop()
        let threads = BlockingThreads()
        let work = try BlockingWork(on: loop, threads)
        let gate = Gate()
        var ends: [Int?] = []
        let began = Instant.now()
        work.run(in: 1, within: .milliseconds(20)) {
            gate.pass()
            return 1
        } then: {
            ends.append($0)
        }
        try turn(loop) { !ends.isEmpty }
        #expect(ends == [nil])
        #expect(Instant.now() - began >= .milliseconds(20))
        gate.open()
        // The next call in the lane proves that the late one has returned.
        work.run(in: 1, within: patience) {
            2
        } then: {
            ends.append($0)
        }
        try turn(loop) { ends.count == 2 && threads.callCount == 0 }
        _ = try loop.runOnce(limit: .zero)
        #expect(ends == [nil, 2])
    }

    @Test("a call that returned in time does not cancel a later call's deadline")
    func laterDeadline() throws {
        let loop = try EventLoop()
        let work = try BlockingWork(on: loop)
        let gate = Gate()
        var ends: [Int?] = []
        work.run(in: 1, within: .milliseconds(20)) {
            1
        } then: {
            ends.append($0)
        }
        let began = Instant.now()
        work.run(in: 2, within: .milliseconds(40)) {
            gate.pass()
            return 2
        } then: {
            ends.append($0)
        }
        try turn(loop) { ends.count == 2 }
        #expect(ends.last == .some(nil))
        #expect(Instant.now() - began >= .milliseconds(40))
        gate.open()
    }

    @Test("a lane of stuck calls rejects further ones immediately, and a canceled call is not reported")
    func refused() throws {
        let loop = try EventLoop()
        let work = try BlockingWork(
            on: loop, BlockingThreads(.init(threads: 4, threadsPerLane: 1, callsPerLane: 1)))
        let gate = Gate()
        let ticket = work.run(in: 1, within: patience) {
            gate.pass()
        } then: { _ in
            Issue.record("it was canceled")
        }
        try gate.awaitEntry()
        var ends: [Int?] = []
        work.run(in: 1, within: patience) {
            1
        } then: {
            ends.append($0)
        }
        #expect(ends.isEmpty, "a handler is called by the loop only")
        try turn(loop) { !ends.isEmpty }
        #expect(ends == [nil])
        work.cancel(ticket)
        gate.open()
        work.run(in: 2, within: patience) {
            2
        } then: {
            ends.append($0)
        }
        try turn(loop) { ends.count == 2 }
        #expect(ends == [nil, 2])
    }

    // MARK: - Turns

    private func at(_ seconds: Int) -> Instant { Instant(nanoseconds: Int64(seconds) * 1_000_000_000) }

    @Test("the longest iteration is kept forever, and the longest recent one for 30 to 60 seconds")
    func turns() {
        var turns = LoopTurns()
        #expect(turns.longest == .zero && turns.longestRecently(at: at(0)) == .zero)
        turns.add(from: at(100), to: at(100) + .milliseconds(7))
        turns.add(from: at(110), to: at(110) + .milliseconds(3))
        #expect(turns.longestRecently(at: at(129)) == .milliseconds(7))
        turns.add(from: at(131), to: at(131) + .milliseconds(2))
        #expect(turns.longestRecently(at: at(132)) == .milliseconds(7))
        turns.add(from: at(162), to: at(162) + .milliseconds(1))
        #expect(turns.longestRecently(at: at(163)) == .milliseconds(2))
        #expect(turns.longestRecently(at: at(300)) == .zero)
        #expect(turns.longest == .milliseconds(7))
    }

    @Test("a loop measures its handlers")
    func measured() throws {
        let loop = try EventLoop()
        let call = try loop.soon {
            let end = Instant.now() + .milliseconds(20)
            while Instant.now() < end {}
        }
        try turn(loop) { loop.turns.longest >= .milliseconds(19) }
        #expect(loop.turns.longestRecently(at: .now()) == loop.turns.longest)
        call.cancel()
    }
}
