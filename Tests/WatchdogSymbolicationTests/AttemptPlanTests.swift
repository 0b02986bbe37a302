// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogSymbolication

@Suite("The next step after a failed attempt", .reapsChildren)
struct AttemptPlanTests {
    private let start = Instant(nanoseconds: 0)

    @Test("a crash in an image omits its lines, then the image")
    func crash() {
        var plan = AttemptPlan(start: start, budget: .seconds(4))
        #expect(plan.current == Attempt(depth: .lines, deadline: start + .seconds(2)))
        let next = plan.next(after: .signal(11, image: 3))
        #expect(next?.depth == .lines)
        #expect(next?.withoutLines == [3])
        #expect(next?.excluded == [])
        #expect(next?.deadline == start + .seconds(2))
        let another = plan.next(after: .signal(7, image: 3))
        #expect(another?.depth == .lines)
        #expect(another?.excluded == [3])
    }

    @Test("without a confined process, addresses are tried once")
    func noWorker() {
        var plan = AttemptPlan(start: start, budget: .seconds(4))
        let last = plan.next(after: .noWorker("fork(2) failed"))
        #expect(last?.depth == .addresses && last?.isWithoutWorker == true)
        #expect(last?.deadline == start + .seconds(4))
        #expect(plan.next(after: .exit(1)) == nil)
    }

    @Test("a timeout reduces to names, then names without the image, then addresses")
    func timeout() {
        var plan = AttemptPlan(start: start, budget: .seconds(10))
        let names = plan.next(after: .timeout(image: 1))
        #expect(names?.depth == .names)
        #expect(names?.excluded == [])
        #expect(names?.deadline == start + .seconds(7))
        let fewer = plan.next(after: .timeout(image: 1))
        #expect(fewer?.depth == .names)
        #expect(fewer?.excluded == [1])
        #expect(fewer?.deadline == start + .seconds(9))
        let last = plan.next(after: .timeout(image: 2))
        #expect(last?.depth == .addresses)
        #expect(last?.deadline == start + .seconds(10))
        #expect(plan.next(after: .timeout(image: nil)) == nil)
    }

    @Test("attempts end even if each crashes in a new image")
    func manyCrashes() {
        var plan = AttemptPlan(start: start, budget: .seconds(4))
        var attempts = 1
        while let next = plan.next(after: .signal(11, image: attempts)) {
            attempts += 1
            #expect(next.failures.count == attempts - 1)
            #expect(attempts < 30)
        }
        #expect(plan.current.depth == .addresses)
    }

    @Test("the report names the omissions")
    func notes() {
        let image = Image(range: 0..<1, path: "/usr/lib/libx.so", inode: 1, offset: 0)
        var attempt = Attempt(depth: .lines, deadline: start)
        attempt.failures = [.signal(11, image: 0), .timeout(image: nil), .exit(70)]
        #expect(
            attempt.notes(images: [image]) == [
                "/usr/lib/libx.so: reading it ended with signal 11; less of it was read then",
                "symbolication ended with a timeout and was begun again with less to do",
                "symbolication ended with exit code 70 and was begun again with less to do",
            ])
    }

    @Test("a shrinking time budget yields less and less")
    func budget() {
        let budget = TimeBudget(depth: .lines, now: start, deadline: start + .seconds(10))
        #expect(budget.depth(at: start) == .lines)
        #expect(budget.depth(at: start + .seconds(5)) == .names)
        #expect(budget.depth(at: start + .seconds(7)) == .addresses)
        #expect(budget.depth(at: start + .seconds(8)) == nil)
        let names = TimeBudget(depth: .names, now: start, deadline: start + .seconds(10))
        #expect(names.depth(at: start) == .names)
        let late = TimeBudget(depth: .lines, now: start + .seconds(11), deadline: start + .seconds(10))
        #expect(late.depth(at: start + .seconds(11)) == nil)
    }
}
