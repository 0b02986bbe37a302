// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("Reloads of an app")
struct ReloadMachineTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)

    /// One reload on virtual time.
    private struct Life {
        var machine: ReloadMachine
        var effects: [ReloadMachine.Effect] = []

        init(
            commands: Int = 1, mayAnnounce: Bool = false, fairness: Fairness = Fairness(), lastProgress: String? = nil
        ) {
            machine = ReloadMachine(
                commandCount: commands, allowance: .seconds(20), fairness: fairness, lastProgress: lastProgress,
                mayAnnounce: mayAnnounce, at: start)
            at(.zero, .begun)
        }

        mutating func at(_ time: Duration, _ events: ReloadMachine.Event...) {
            for event in events { effects += machine.handle(event, at: start + time) }
        }

        var nextDeadline: Duration? { machine.nextDeadline.map { $0 - start } }
    }

    @Test("run the commands one after the other, and are done when the last has succeeded")
    func commands() {
        var life = Life(commands: 2)
        #expect(life.effects == [.run(0)])
        life.at(.seconds(1), .commandEnded(isSuccess: true))
        #expect(life.effects == [.run(0), .run(1)])
        life.at(.seconds(2), .commandEnded(isSuccess: true))
        #expect(life.effects.last == .finish(.done(isConfirmed: false)))
        #expect(life.nextDeadline == nil)
    }

    @Test("end with the first command that fails")
    func failure() {
        var life = Life(commands: 3)
        life.at(.seconds(1), .commandEnded(isSuccess: true))
        life.at(.seconds(2), .commandEnded(isSuccess: false))
        #expect(life.effects == [.run(0), .run(1), .finish(.commandFailed(1))])
    }

    @Test("kill a command at the deadline and not a nanosecond before")
    func commandDeadline() {
        var life = Life(commands: 2)
        life.at(.seconds(19), .commandEnded(isSuccess: true))
        #expect(life.nextDeadline == .seconds(20))
        life.at(.seconds(20) - .nanosecond, .deadlineReached)
        #expect(life.effects.count == 2)
        life.at(.seconds(20), .deadlineReached)
        #expect(life.effects.suffix(2) == [.cancel, .finish(.commandTimedOut(1))])
    }

    @Test(
        "are confirmed by an app that says that it reloads and that it is ready, however the two lie to the command's end"
    )
    func confirmation() {
        var after = Life()
        after.at(.seconds(1), .announced)
        after.at(.seconds(2), .commandEnded(isSuccess: true))
        #expect(after.effects == [.run(0)])
        after.at(.seconds(3), .ready)
        #expect(after.effects.last == .finish(.done(isConfirmed: true)))

        var before = Life()
        before.at(.seconds(1), .announced, .ready)
        #expect(before.effects == [.run(0)])
        before.at(.seconds(2), .commandEnded(isSuccess: true))
        #expect(before.effects.last == .finish(.done(isConfirmed: true)))

        var again = Life()
        again.at(.seconds(1), .announced, .ready, .announced, .commandEnded(isSuccess: true))
        #expect(again.effects == [.run(0)])
        again.at(.seconds(2), .ready)
        #expect(again.effects.last == .finish(.done(isConfirmed: true)))
    }

    @Test("wait for an app that reloads until the deadline and not beyond")
    func appDeadline() {
        var slow = Life(mayAnnounce: true)
        slow.at(.seconds(1), .commandEnded(isSuccess: true), .announced)
        #expect(slow.nextDeadline == .seconds(20))
        var late = slow
        slow.at(.seconds(20) - .nanosecond, .ready)
        #expect(slow.effects.last == .finish(.done(isConfirmed: true)))
        late.at(.seconds(20), .deadlineReached)
        #expect(late.effects.last == .finish(.appTimedOut))
        late.at(.seconds(20), .ready)
        #expect(late.effects.count == 2)
    }

    @Test("leave an app that speaks sd_notify a moment to say that it reloads")
    func announcement() {
        var silent = Life(mayAnnounce: true)
        silent.at(.seconds(1), .commandEnded(isSuccess: true))
        #expect(silent.nextDeadline == .milliseconds(1_250))
        var speaking = silent
        silent.at(.milliseconds(1_250), .deadlineReached)
        #expect(silent.effects.last == .finish(.done(isConfirmed: false)))
        speaking.at(.milliseconds(1_250) - .nanosecond, .deadlineReached, .announced)
        #expect(speaking.nextDeadline == .seconds(20))
        speaking.at(.seconds(2), .ready)
        #expect(speaking.effects.last == .finish(.done(isConfirmed: true)))
    }

    @Test("that end just before the deadline do not fail for lack of time to announce a reload")
    func shortMoment() {
        var life = Life(mayAnnounce: true)
        life.at(.seconds(20) - .milliseconds(1), .commandEnded(isSuccess: true))
        #expect(life.nextDeadline == .seconds(20))
        life.at(.seconds(20), .deadlineReached)
        #expect(life.effects.last == .finish(.done(isConfirmed: false)))
    }

    @Test("last as long as the app extends them, and not a nanosecond longer", arguments: [true, false])
    func extensions(isCommandRunning: Bool) {
        var life = Life(mayAnnounce: true)
        life.at(.seconds(1), .announced)
        if !isCommandRunning { life.at(.seconds(2), .commandEnded(isSuccess: true)) }
        life.at(.seconds(19), .extensionRequested(by: .seconds(30), progress: "1 of 2"))
        #expect(life.effects.last == .extended(by: .seconds(29)))
        #expect(life.machine.allowance == .seconds(49))
        life.at(.seconds(49) - .nanosecond, .deadlineReached)
        #expect(life.nextDeadline == .seconds(49))
        var late = life
        life.at(.seconds(49) - .nanosecond, .ready, .commandEnded(isSuccess: true))
        #expect(life.effects.last == .finish(.done(isConfirmed: true)))
        late.at(.seconds(49), .deadlineReached)
        #expect(late.effects.last == .finish(isCommandRunning ? .commandTimedOut(0) : .appTimedOut))
    }

    @Test("are extended by who asks before the deadline is noticed, and by none who asks after the end")
    func lateExtension() {
        var life = Life()
        life.at(.seconds(20), .extensionRequested(by: .seconds(5), progress: "a"))
        #expect(life.nextDeadline == .seconds(25))
        life.at(.seconds(25), .deadlineReached)
        let effects = life.effects
        life.at(.seconds(25), .extensionRequested(by: .seconds(5), progress: "b"))
        #expect(life.effects == effects)
        #expect(life.nextDeadline == nil)
    }

    @Test("are not extended without progress, unless that is allowed")
    func progress() {
        var life = Life(lastProgress: "old")
        life.at(.seconds(10), .extensionRequested(by: .seconds(30), progress: nil))
        life.at(.seconds(10), .extensionRequested(by: .seconds(30), progress: "old"))
        #expect(life.nextDeadline == .seconds(20))
        life.at(.seconds(10), .extensionRequested(by: .seconds(30), progress: "new"))
        #expect(life.nextDeadline == .seconds(40))
        life.at(.seconds(11), .extensionRequested(by: .seconds(30), progress: "new"))
        #expect(life.nextDeadline == .seconds(40))
        // Less than there is already.
        life.at(.seconds(11), .extensionRequested(by: .seconds(29), progress: "newer"))
        #expect(life.effects == [.run(0), .extended(by: .seconds(20))])

        var fairness = Fairness()
        fairness.allowsBlindExtension = true
        var blind = Life(fairness: fairness)
        blind.at(.seconds(10), .extensionRequested(by: .seconds(30), progress: nil))
        #expect(blind.nextDeadline == .seconds(40))
    }

    @Test("are extended up to the cap and not a nanosecond beyond")
    func extensionCap() {
        var fairness = Fairness()
        fairness.extensionCap = .seconds(60)
        var life = Life(fairness: fairness)
        life.at(.seconds(10), .extensionRequested(by: .seconds(50), progress: "a"))
        #expect(life.nextDeadline == .seconds(60))
        life.at(.seconds(40), .extensionRequested(by: .seconds(60), progress: "b"))
        #expect(life.effects.last == .extended(by: .seconds(20)))
        #expect(life.nextDeadline == .seconds(80))
        life.at(.seconds(79), .extensionRequested(by: .seconds(60), progress: "c"))
        #expect(life.effects.last == .extensionCapped)
        life.at(.seconds(80) - .nanosecond, .deadlineReached)
        #expect(life.effects.last == .extensionCapped)
        life.at(.seconds(80), .deadlineReached)
        #expect(life.effects.last == .finish(.commandTimedOut(0)))
    }

    @Test("end once, whatever comes")
    func storm() {
        let events: [ReloadMachine.Event] = [
            .begun, .commandEnded(isSuccess: true), .commandEnded(isSuccess: false), .announced, .ready,
            .extensionRequested(by: .seconds(30), progress: "a"), .extensionRequested(by: .seconds(90), progress: "b"),
            .deadlineReached,
        ]
        var random = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            var life = Life(commands: .random(in: 1...3, using: &random), mayAnnounce: .random(using: &random))
            var time = Duration.zero
            for _ in 0..<20 {
                let deadline = life.nextDeadline
                time += .milliseconds(Int.random(in: 0...4_000, using: &random))
                if let deadline, time >= deadline {
                    time = max(time, deadline)
                    life.at(time, .deadlineReached)
                } else {
                    life.at(time, events.randomElement(using: &random) ?? .ready)
                }
            }
            let ends = life.effects.filter { if case .finish = $0 { true } else { false } }
            #expect(ends.count == (life.nextDeadline == nil ? 1 : 0))
            if life.nextDeadline == nil { #expect(ends.first == life.effects.last) }
            let runs = life.effects.compactMap { if case .run(let index) = $0 { index } else { nil } }
            #expect(runs == Array(0..<runs.count))
        }
    }
}
