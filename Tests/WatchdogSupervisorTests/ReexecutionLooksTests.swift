// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogDaemon

@Suite("When watchdogd executes itself again")
struct ReexecutionLooksTests {
    private let limit = ReexecutionLooks.limit
    private let words = "thread 7 (watchdogd) is blocked in request_wait_answer"

    /// The last decision of so many looks; all before it must be to look again.
    private func decision(
        after count: Int, isBusy: Bool = false, threads: (Int) -> [Int32: String] = { _ in [:] }
    ) -> ReexecutionLooks.Decision? {
        var looks = ReexecutionLooks()
        for number in 1...count {
            let decision = looks.look(isBusy: isBusy, threadsBeyondSignals: threads(number))
            if number == count { return decision }
            guard decision == .lookAgain else { return nil }
        }
        return nil
    }

    @Test("It does so at once if nothing is unfinished")
    func idle() {
        #expect(decision(after: 1) == .execute)
    }

    @Test("It waits for unfinished work, up to the limit")
    func busy() {
        #expect(decision(after: limit, isBusy: true) == .lookAgain)
        #expect(decision(after: limit + 1, isBusy: true) == .execute)
    }

    @Test("It refuses once a thread has been blocked for the limit, and not before")
    func blocked() {
        #expect(decision(after: limit) { _ in [7: words] } == .lookAgain)
        #expect(decision(after: limit + 1) { _ in [7: words] } == .refuse(words))
    }

    @Test("Threads that are blocked for a moment only delay it")
    func momentary() {
        // The one is back before it has been blocked for the limit, and another one is blocked at the last look.
        let threads: (Int) -> [Int32: String] = { [$0 <= limit ? 7 : 8: words] }
        #expect(decision(after: limit + 1, isBusy: true, threads: threads) == .lookAgain)
        #expect(decision(after: limit + 2, isBusy: true) { $0 == limit + 2 ? [:] : threads($0) } == .execute)
    }

    @Test("A thread that was free in between is counted from its next block")
    func again() {
        let threads: (Int) -> [Int32: String] = { [$0 == limit ? 8 : 7: words] }
        #expect(decision(after: 2 * limit, threads: threads) == .lookAgain)
        #expect(decision(after: 2 * limit + 1, threads: threads) == .refuse(words))
    }
}
