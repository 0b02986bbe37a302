// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogCapture

extension CaptureQueue {
    /// Begins the newest worker's next capture.
    fileprivate mutating func next(at now: Instant) -> Job? { next(for: generation, at: now) }
}

@Suite("The order of captures")
struct CaptureQueueTests {
    private static let start = Instant(nanoseconds: 10_000_000_000)
    private static let instant = Duration.nanoseconds(1)
    private static let patience = CaptureQueue<String>.patience
    private static let limits = CaptureQueue<String>.limits

    private static func tenant(_ app: String, _ user: UInt32 = 1) -> Tenant { Tenant(app: app, user: user) }

    /// Adds a capture, begins it, and gets it stuck, so that another worker takes over.
    private static func getStuck(_ queue: inout CaptureQueue<String>, _ tenant: Tenant, at now: Instant) throws -> Int {
        let refusal = queue.add("stuck", for: tenant, at: now)
        let job = queue.next(at: now)
        let generation = queue.generation
        let successor = queue.replace(generation)
        try #require(refusal == nil && job != nil && successor != nil)
        return generation
    }

    private static func stuck(_ refusal: CaptureRefusal?) -> StuckWaits.Refusal? {
        if case .stuck(let stuck)? = refusal { stuck } else { nil }
    }

    @Test("is the order in which they were added")
    func order() {
        var queue = CaptureQueue<String>(capacity: 2)
        #expect(queue.next(at: Self.start) == nil)
        for job in ["1", "2"] { #expect(queue.add(job, for: Self.tenant(job), at: Self.start) == nil) }
        #expect(queue.add("3", for: Self.tenant("b", 2), at: Self.start) == .tooManyWaiting)
        let first = queue.next(at: Self.start)
        let isCurrent = queue.finish(0)
        let begun = [first, queue.next(at: Self.start)]
        #expect(isCurrent && begun == ["1", "2"])
    }

    @Test("adds extra workers, up to the limit, while captures of several apps wait, and removes them afterwards")
    func extras() throws {
        var queue = CaptureQueue<String>(capacity: 9, width: 2)
        for job in ["1", "2", "3"] { #expect(queue.add(job, for: Self.tenant(job), at: Self.start) == nil) }
        let calls = [
            queue.callExtra(), queue.next(for: 0, at: Self.start) == "1", queue.callExtra(), queue.callExtra(),
        ]
        #expect(calls == [false, true, true, false], "the worker comes first, and one extra is enough")
        let joined = queue.join()
        let extra = try #require(joined)
        let more = queue.callExtra()
        #expect(!more)
        let second = queue.next(for: extra, at: Self.start + Self.instant)
        let isCurrent = queue.finish(extra)
        let third = queue.next(for: extra, at: Self.start + Self.instant)
        #expect(second == "2" && isCurrent && third == "3")
        let hasFinished = queue.finish(extra)
        let none = queue.next(for: extra, at: Self.start)
        #expect(hasFinished && none == nil)
        queue.leave(extra)
        #expect(queue.extras.isEmpty)
        _ = queue.add("4", for: Self.tenant("4"), at: Self.start)
        let late = queue.next(for: extra, at: Self.start)
        #expect(late == nil, "it has left")
        let again = queue.callExtra()
        #expect(again)
    }

    @Test("does without an extra worker that comes too late or fails to start")
    func lateCall() {
        var queue = CaptureQueue<String>(capacity: 9, width: 2)
        for job in ["1", "2"] { _ = queue.add(job, for: Self.tenant(job), at: Self.start) }
        _ = queue.next(for: 0, at: Self.start)
        let isCalled = queue.callExtra()
        _ = queue.finish(0)
        _ = queue.next(for: 0, at: Self.start)
        let joined = queue.join()
        #expect(isCalled && joined == nil && queue.extras.isEmpty)
        _ = queue.add("3", for: Self.tenant("3"), at: Self.start)
        let calls = [queue.callExtra(), queue.callExtra()]
        queue.cancelExtra()
        let again = queue.callExtra()
        #expect(calls == [true, false] && again)
    }

    @Test("allows one capture per app at a time, and starts no extra worker for a second one")
    func oneOfAnApp() throws {
        var queue = CaptureQueue<String>(capacity: 9, width: 2)
        for job in ["1", "2"] { #expect(queue.add(job, for: Self.tenant("a"), at: Self.start) == nil) }
        let first = queue.next(for: 0, at: Self.start)
        let early = queue.callExtra()
        #expect(first == "1" && !early)
        _ = queue.add("3", for: Self.tenant("b"), at: Self.start)
        let isCalled = queue.callExtra()
        let joined = queue.join()
        let extra = try #require(joined)
        let third = queue.next(for: extra, at: Self.start)
        #expect(isCalled && third == "3")
        let isCurrent = queue.finish(0)
        let second = queue.next(for: 0, at: Self.start)
        #expect(isCurrent && second == "2")
    }

    @Test("replaces the oldest late capture first, and the successor of an extra worker is extra too")
    func lateExtra() throws {
        var queue = CaptureQueue<String>(capacity: 9, width: 2)
        for job in ["1", "2"] { #expect(queue.add(job, for: Self.tenant(job), at: Self.start) == nil) }
        let first = queue.next(for: 0, at: Self.start + Self.instant)
        _ = queue.callExtra()
        let joined = queue.join()
        let extra = try #require(joined)
        let second = queue.next(for: extra, at: Self.start)
        #expect([first, second] == ["1", "2"])
        #expect(queue.late(after: .seconds(1), at: Self.start + .seconds(1)) == nil)
        #expect(queue.late(after: .seconds(1), at: Self.start + .seconds(1) + Self.instant) == extra)
        let next = queue.replace(extra)
        let successor = try #require(next)
        #expect(queue.extras == [successor])
        #expect(queue.late(after: .seconds(1), at: Self.start + .seconds(2)) == 0)
        #expect(queue.stuckCount == 1)
    }

    @Test("counts a capture as late after its limit, and not before")
    func late() {
        var queue = CaptureQueue<String>(capacity: 2)
        #expect(queue.late(after: .zero, at: Self.start + .seconds(9)) == nil, "nothing runs")
        _ = queue.add("1", for: Self.tenant("a"), at: Self.start)
        _ = queue.next(at: Self.start)
        let limit = Duration.milliseconds(100)
        #expect(queue.late(after: limit, at: Self.start + limit) == nil)
        #expect(queue.late(after: limit, at: Self.start + limit + Self.instant) == 0)
        #expect(queue.replace(0) == 1)
        #expect(queue.replace(0) == nil, "another worker was faster")
        #expect(queue.late(after: limit, at: Self.start + .seconds(9)) == nil)
    }

    @Test("puts users with stuck captures after all others")
    func fairness() throws {
        var queue = CaptureQueue<String>(capacity: 9)
        _ = try Self.getStuck(&queue, Self.tenant("a"), at: Self.start)
        for (job, tenant) in [("same", Self.tenant("b")), ("other", Self.tenant("c", 2))] {
            #expect(queue.add(job, for: tenant, at: Self.start) == nil)
        }
        let begun = [queue.next(at: Self.start), queue.next(at: Self.start)]
        #expect(begun == ["other", "same"])
    }

    @Test("makes an app at its limit wait at first, and rejects it when its captures are old, and not before")
    func patience() throws {
        var queue = CaptureQueue<String>(capacity: 9)
        let app = Self.tenant("a")
        for _ in 0..<Self.limits.app { _ = try Self.getStuck(&queue, app, at: Self.start) }
        let due = Self.start + Self.patience
        #expect(queue.add("young", for: app, at: due - Self.instant) == nil)
        let early = queue.takeRefused(at: due - Self.instant)
        #expect(early.isEmpty)
        #expect(queue.next(at: due - Self.instant) == nil)
        #expect(queue.waitingCount == 1, "it does not begin")
        let outcome = queue.add("old", for: app, at: due)
        let refusal = try #require(Self.stuck(outcome))
        #expect(refusal.scope == .app(app) && refusal.count == Self.limits.app)
        let refused = queue.takeRefused(at: due).map(\.job)
        #expect(refused == ["young"])
        #expect(queue.waitingCount == 0)
        #expect(queue.refusal(of: Self.tenant("b"), at: due) == nil, "another app of the user")
    }

    @Test("rejects a user at its limit, and no other user")
    func users() throws {
        var queue = CaptureQueue<String>(capacity: 9)
        let last = Self.tenant("last")
        for number in 1..<Self.limits.user {
            _ = try Self.getStuck(&queue, Self.tenant("\(number)"), at: Self.start)
        }
        let due = Self.start + Self.patience
        #expect(queue.refusal(of: Self.tenant("new"), at: due) == nil)
        let generation = try Self.getStuck(&queue, last, at: Self.start)
        let refusal = try #require(Self.stuck(queue.refusal(of: Self.tenant("new"), at: due)))
        #expect(refusal.words("capture") == "4 earlier captures of user 1's processes have not returned")
        #expect(queue.refusal(of: Self.tenant("new", 2), at: due) == nil)
        #expect(queue.add("other", for: Self.tenant("new", 2), at: due) == nil)
        #expect(queue.next(at: due) == "other")
        #expect(queue.finish(generation) == false, "another worker has the turn")
        #expect(queue.refusal(of: Self.tenant("new"), at: due) == nil, "one has returned")
        #expect(queue.stuckCount == Self.limits.user - 1)
    }

    @Test("has a total limit several times a user's; at that limit, no worker is replaced")
    func all() throws {
        #expect(Self.limits.app < Self.limits.user && Self.limits.user * 4 <= Self.limits.all)
        var queue = CaptureQueue<String>(capacity: 99)
        for user in 1...UInt32(Self.limits.all) {
            #expect(queue.refusal(of: Self.tenant("new", 1_000), at: Self.start + Self.patience) == nil)
            _ = queue.add("stuck", for: Self.tenant("a", user), at: Self.start)
            _ = queue.next(at: Self.start)
            #expect(queue.late(after: .zero, at: Self.start + .seconds(1)) != nil, "\(user)")
            _ = queue.replace(queue.generation)
        }
        #expect(Self.stuck(queue.refusal(of: Self.tenant("new", 1_000), at: Self.start + Self.patience))?.scope == .all)
        _ = queue.add("waits", for: Self.tenant("new", 1_000), at: Self.start)
        #expect(queue.next(at: Self.start) == nil)
    }

    @Test("ends with the waiting captures at shutdown")
    func shutDown() {
        var queue = CaptureQueue<String>(capacity: 9)
        _ = queue.add("1", for: Self.tenant("a"), at: Self.start)
        #expect(queue.shutDown() == ["1"])
        #expect(queue.add("2", for: Self.tenant("a"), at: Self.start) == .shutDown)
        #expect(queue.next(at: Self.start) == nil)
    }
}
