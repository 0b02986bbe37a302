// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogPolicy

@Suite("One judgement")
struct JudgementTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private let terms = Terms(Fairness())
    private let traced = Evidence(state: "t", tracer: 7)
    private let awake = Evidence(state: "S")

    /// A ten-second allowance that is examined at its deadline.
    private func examined(_ numbers: inout Numbers) -> Judgement {
        var judgement = Judgement(.sceneUpdate, from: Self.start, allowance: .seconds(10))
        #expect(judgement.due(at: Self.start + .seconds(10), terms, &numbers) == .inspect(id: 1))
        return judgement
    }

    @Test("an answer with a different id is ignored")
    func otherID() {
        var numbers = Numbers()
        var judgement = examined(&numbers)
        let before = judgement
        for id in [0, 2] {
            #expect(!judgement.awaits(id))
            #expect(judgement.inspected(id, awake, at: Self.start + .seconds(10), terms) == .nothing)
            #expect(judgement == before)
        }
        #expect(judgement.awaits(1))
        #expect(judgement.inspected(1, awake, at: Self.start + .seconds(10), terms) == .decided)
    }

    @Test("an examination of a paused process is answered once, and only by its own id")
    func pausedID() {
        var numbers = Numbers()
        var judgement = examined(&numbers)
        let found = Self.start + .seconds(10)
        #expect(judgement.inspected(1, traced, at: found, terms) == .paused(.traced(by: 7)))
        #expect(judgement.inspected(1, awake, at: found, terms) == .nothing)
        #expect(judgement.due(at: found + .milliseconds(250), terms, &numbers) == .inspect(id: 2))
        #expect(judgement.inspected(1, awake, at: found + .milliseconds(250), terms) == .nothing)
        #expect(judgement.inspected(2, traced, at: found + .milliseconds(250), terms) == .nothing)
        #expect(!judgement.awaits(2))
        #expect(judgement.inspected(2, awake, at: found + .milliseconds(250), terms) == .nothing)
        #expect(judgement.due(at: found + .milliseconds(500), terms, &numbers) == .inspect(id: 3))
        #expect(
            judgement.inspected(3, awake, at: found + .milliseconds(500), terms)
                == .resumed(after: .milliseconds(500), startsOver: true))
        #expect(judgement.deadline == found + .milliseconds(500) + .seconds(10))
    }

    @Test("saving and restoring loses nothing")
    func saved() {
        var numbers = Numbers()
        var judgement = examined(&numbers)
        #expect(Judgement(judgement.saved) == judgement)
        _ = judgement.inspected(1, traced, at: Self.start + .seconds(11), terms)
        #expect(Judgement(judgement.saved) == judgement)
        _ = judgement.extend(by: .seconds(60), cap: .seconds(600), at: Self.start + .seconds(12))
        #expect(Judgement(judgement.saved) == judgement)
    }
}
