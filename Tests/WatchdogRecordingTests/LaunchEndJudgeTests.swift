// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogRecording

@Suite("The end of a launch")
struct LaunchEndJudgeTests {
    private let requested = Instant(nanoseconds: 1_000_000_000)

    private func judge(_ goal: LaunchGoal? = nil, limit: Duration = .seconds(10)) -> LaunchEndJudge {
        LaunchEndJudge(goal: goal, requested: requested, limit: limit)
    }

    private func after(_ milliseconds: Int) -> Instant { requested + .milliseconds(milliseconds) }

    @Test(
        "READY=1 and the first frame end it; it is recorded until the program has been quiet, and no longer",
        arguments: [LaunchEndJudge.Event.ready, .firstFrame])
    func ownWord(event: LaunchEndJudge.Event) {
        var judge = judge()
        judge.handle(event, at: after(5))
        #expect(judge.end?.kind == (event == .ready ? .ready : .firstFrame))
        judge.handle(.passed, at: after(504))
        #expect(!judge.isDone)
        #expect(judge.nextDeadline == after(505))
        judge.handle(.passed, at: after(505))
        #expect(judge.isDone && judge.nextDeadline == nil)
        #expect(judge.end?.time == after(5))
    }

    @Test("USEFUL=1 counts while the program is not quiet, and ends the recording immediately", arguments: [504, 505])
    func usefulLater(milliseconds: Int) {
        var judge = judge()
        judge.handle(.ready, at: after(5))
        judge.handle(.passed, at: after(milliseconds))
        let isSeen = !judge.isDone
        judge.handle(.useful, at: after(milliseconds))
        #expect(isSeen == (milliseconds == 504))
        #expect(judge.isDone && judge.end?.kind == .ready && judge.end?.time == after(5))
    }

    @Test("A program that was useful before it was ready is not awaited")
    func usefulBefore() {
        var judge = judge()
        judge.handle(.useful, at: after(3))
        #expect(!judge.isDone && judge.end == nil)
        judge.handle(.ready, at: after(5))
        #expect(judge.isDone && judge.end?.kind == .ready)
    }

    @Test(
        "Any message of the program restarts its quiet time; observations of it do not",
        arguments: [
            (.firstFrame, true), (.signpost, true), (.taskBegun, true), (.hello, true), (.listening, false),
            (.idle(since: Instant(nanoseconds: 1)), false),
        ] as [(LaunchEndJudge.Event, Bool)])
    func words(event: LaunchEndJudge.Event, isWord: Bool) {
        var judge = judge()
        judge.handle(.ready, at: after(5))
        judge.handle(event, at: after(400))
        if event == .taskBegun { judge.handle(.taskEnded, at: after(400)) }
        judge.handle(.passed, at: after(505))
        #expect(judge.isDone != isWord)
        judge.handle(.passed, at: after(899))
        #expect(judge.isDone != isWord)
        judge.handle(.passed, at: after(900))
        #expect(judge.isDone && judge.end?.time == after(5))
    }

    @Test("The quiet time ends with the time limit, and with the program", arguments: [true, false])
    func quietEnds(byExit: Bool) {
        var judge = judge(limit: .milliseconds(300))
        judge.handle(.ready, at: after(5))
        judge.handle(.passed, at: after(299))
        #expect(!judge.isDone)
        judge.handle(byExit ? .exited(code: 0) : .passed, at: after(byExit ? 299 : 300))
        #expect(judge.isDone && judge.end?.kind == .ready)
    }

    @Test("A program that sends no messages is not awaited after its launch has ended")
    func silent() {
        var judge = judge()
        judge.handle(.listening, at: after(5))
        judge.handle(.idle(since: after(7)), at: after(107))
        #expect(judge.isDone && judge.end?.kind == .listen)
    }

    @Test("READY=1 within the grace period is preferred to a listening socket")
    func readyAfterListening() {
        var judge = judge()
        judge.handle(.listening, at: after(5))
        #expect(!judge.isDone)
        judge.handle(.ready, at: after(900))
        #expect(judge.end?.kind == .ready)
    }

    @Test("A listening socket counts once the main thread idles, or when the grace period is over, and not before")
    func listening() {
        var idle = judge()
        idle.handle(.listening, at: after(5))
        idle.handle(.idle(since: after(7)), at: after(107))
        #expect(idle.end?.kind == .listen && idle.end?.time == after(5))
        var busy = judge()
        busy.handle(.listening, at: after(5))
        busy.handle(.passed, at: after(1004))
        #expect(!busy.isDone)
        #expect(busy.nextDeadline == after(1005))
        busy.handle(.passed, at: after(1005))
        #expect(busy.isDone && busy.end?.kind == .listen)
    }

    @Test("Idleness ends a program without a better sign, from the moment at which it began to wait")
    func idle() {
        var judge = judge()
        judge.handle(.idle(since: after(7)), at: after(107))
        #expect(judge.isDone && judge.end?.kind == .idle && judge.end?.time == after(7))
    }

    @Test("A program that has sent hello is awaited")
    func hello() {
        var judge = judge()
        judge.handle(.hello, at: after(2))
        judge.handle(.listening, at: after(3))
        judge.handle(.idle(since: after(7)), at: after(107))
        judge.handle(.passed, at: after(5000))
        #expect(!judge.isDone)
        judge.handle(.ready, at: after(6000))
        #expect(judge.end?.kind == .ready)
    }

    @Test("A goal is the only end, besides exit and the time limit", arguments: LaunchGoal.allCases)
    func goals(goal: LaunchGoal) {
        let events: [(LaunchGoal, LaunchEndJudge.Event, LaunchEnd.Kind)] = [
            (.ready, .ready, .ready), (.firstFrame, .firstFrame, .firstFrame), (.useful, .useful, .useful),
            (.listen, .listening, .listen), (.idle, .idle(since: after(1)), .idle),
        ]
        for (wanted, event, kind) in events {
            var judge = judge(goal)
            judge.handle(event, at: after(1))
            #expect(judge.isDone == (wanted == goal))
            #expect(wanted != goal || judge.end?.kind == kind)
        }
        var exiting = judge(goal)
        exiting.handle(.exited(code: 3), at: after(4))
        #expect(exiting.end?.kind == .exit && exiting.end?.code == 3)
    }

    @Test("The time limit ends it, and not earlier")
    func limit() {
        var judge = judge(.ready, limit: .milliseconds(50))
        judge.handle(.passed, at: after(49))
        #expect(!judge.isDone)
        judge.handle(.passed, at: after(50))
        #expect(judge.isDone && judge.end?.kind == .timeLimit && judge.end?.time == after(50))
    }

    @Test("An open launch task keeps the recording running, but does not move the end")
    func tasks() {
        var judge = judge()
        judge.handle(.taskBegun, at: after(1))
        judge.handle(.ready, at: after(5))
        #expect(!judge.isDone && judge.end?.time == after(5))
        judge.handle(.passed, at: after(2_000))
        #expect(!judge.isDone)
        judge.handle(.taskEnded, at: after(2_009))
        judge.handle(.passed, at: after(2_508))
        #expect(!judge.isDone)
        judge.handle(.passed, at: after(2_509))
        #expect(judge.isDone && judge.end?.kind == .ready && judge.end?.time == after(5))
    }

    @Test("With a goal, an open task keeps the recording running, and its end ends it")
    func tasksOfGoal() {
        var judge = judge(.ready)
        judge.handle(.taskBegun, at: after(1))
        judge.handle(.ready, at: after(5))
        #expect(!judge.isDone)
        judge.handle(.taskEnded, at: after(9))
        #expect(judge.isDone)
    }

    @Test("An exit ends the recording even while a task is open")
    func exitWithTask() {
        var judge = judge()
        judge.handle(.taskBegun, at: after(1))
        judge.handle(.firstFrame, at: after(5))
        judge.handle(.killed(signal: 9), at: after(6))
        #expect(judge.isDone && judge.end?.kind == .firstFrame)
    }
}
