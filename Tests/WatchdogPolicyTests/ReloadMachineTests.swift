// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
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
        /// The evidence of every examination.
        var evidence = Evidence(state: "S")

        init(
            commands: Int = 1, mayAnnounce: Bool = false, fairness: Fairness = Fairness(), lastProgress: String? = nil
        ) {
            machine = ReloadMachine(
                commandCount: commands, allowance: .seconds(20), fairness: fairness, lastProgress: lastProgress,
                mayAnnounce: mayAnnounce, at: start)
            at(.zero, .begun)
        }

        mutating func at(_ time: Duration, _ events: ReloadMachine.Event...) {
            for event in events {
                var news = machine.handle(event, at: start + time)
                if case .inspect(let id)? = news.last {
                    news = machine.handle(.inspected(id: id, evidence), at: start + time)
                }
                effects += news
            }
        }

        var nextDeadline: Duration? { machine.nextDeadline.map { $0 - start } }
    }

    @Test("run the commands in order, and are done when the last one succeeds")
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
        "are confirmed by the app's RELOADING=1 and READY=1, in any order with the command's exit"
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

    @Test("wait for a reloading app until the deadline and no longer")
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

    @Test("give an app that uses sd_notify a moment to announce the reload")
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

    @Test("commands that end just before the deadline do not fail because no time is left to announce a reload")
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

    @Test("are extended by a request before the deadline is handled, and not by one after the end")
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

    @Test("are not extended without progress, unless configured")
    func progress() {
        var life = Life(lastProgress: "old")
        life.at(.seconds(10), .extensionRequested(by: .seconds(30), progress: nil))
        life.at(.seconds(10), .extensionRequested(by: .seconds(30), progress: "old"))
        #expect(life.nextDeadline == .seconds(20))
        life.at(.seconds(10), .extensionRequested(by: .seconds(30), progress: "new"))
        #expect(life.nextDeadline == .seconds(40))
        life.at(.seconds(11), .extensionRequested(by: .seconds(30), progress: "new"))
        #expect(life.nextDeadline == .seconds(40))
        // Less than the remaining time.
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

    // Freezing, tracing, core dumps and an overslept supervisor are handled alike.
    @Test("get the app's run delay as credit once, and not a nanosecond more")
    func starvedApp() {
        var life = Life(mayAnnounce: true)
        life.at(.seconds(1), .announced, .commandEnded(isSuccess: true))
        life.evidence.runDelay = .seconds(5)
        life.at(.seconds(20), .deadlineReached)
        #expect(life.effects.last == .credited(.seconds(5)))
        #expect(life.nextDeadline == .seconds(25))
        var late = life
        life.at(.seconds(25) - .nanosecond, .deadlineReached, .ready)
        #expect(life.effects.last == .finish(.done(isConfirmed: true)))
        late.at(.seconds(25), .deadlineReached)
        #expect(late.effects.last == .finish(.appTimedOut))
    }

    @Test("get no more credit than their allowance")
    func creditCap() {
        var life = Life()
        life.evidence.runDelay = .seconds(90)
        life.at(.seconds(20), .deadlineReached)
        #expect(life.effects.last == .credited(.seconds(20)))
        #expect(life.nextDeadline == .seconds(40))
        life.at(.seconds(40), .deadlineReached)
        #expect(life.effects.suffix(2) == [.cancel, .finish(.commandTimedOut(0))])
    }

    @Test(
        "pause while the app is stopped, frozen or traced, and then get their whole allowance and no more",
        arguments: [
            (Evidence(state: "T"), Pause.stopped), (Evidence(state: "S", isFrozen: true), .frozen),
            (Evidence(state: "S", tracer: 7), .traced(by: 7)),
            (Evidence(state: "D", isDumpingCore: true), .dumpingCore),
        ])
    func pausedApp(evidence: Evidence, pause: Pause) {
        var life = Life()
        life.evidence = evidence
        life.at(.seconds(20), .deadlineReached)
        #expect(life.effects.last == .paused(pause))
        for step in 1...400 {
            #expect(life.nextDeadline == .seconds(20) + .milliseconds(250) * step)
            life.at(.seconds(20) + .milliseconds(250) * step, .deadlineReached)
        }
        #expect(life.effects == [.run(0), .paused(pause)])
        life.evidence = Evidence(state: "S")
        life.at(.milliseconds(120_250), .deadlineReached)
        #expect(life.effects.last == .resumed(after: .milliseconds(100_250)))
        #expect(life.nextDeadline == .milliseconds(140_250))
        var late = life
        life.at(.milliseconds(140_250) - .nanosecond, .deadlineReached, .commandEnded(isSuccess: true))
        #expect(life.effects.last == .finish(.done(isConfirmed: false)))
        late.at(.milliseconds(140_250), .deadlineReached)
        #expect(late.effects.last == .finish(.commandTimedOut(0)))
    }

    @Test("start over only if the supervisor overslept their deadline by more than the bound")
    func oversleep() {
        var life = Life()
        var punctual = life
        life.at(.milliseconds(20_100) + .nanosecond, .deadlineReached)
        #expect(life.effects.last == .overslept(by: .milliseconds(100) + .nanosecond))
        #expect(life.nextDeadline == .milliseconds(40_100) + .nanosecond)
        punctual.at(.milliseconds(20_100), .deadlineReached)
        #expect(punctual.effects.last == .finish(.commandTimedOut(0)))
    }

    @Test("do not wait for an examination indefinitely, and end once if its answer is late")
    func lostExamination() {
        var life = Life()
        let asked = life.machine.handle(.deadlineReached, at: Self.start + .seconds(20))
        #expect(asked == [.inspect(id: 1)])
        #expect(life.nextDeadline == .milliseconds(20_250))
        var returned = life
        life.at(.milliseconds(20_250), .deadlineReached, .inspected(id: 1, Evidence(state: "T")))
        #expect(life.effects.suffix(2) == [.cancel, .finish(.commandTimedOut(0))])
        #expect(returned.machine.handle(.supervisorReturned, at: Self.start + .seconds(21)) == [.inspect(id: 2)])
    }

    @Test("are saved and resumed, even from the previous format, which saved only a deadline")
    func saving() throws {
        var life = Life(mayAnnounce: true)
        life.evidence = Evidence(state: "T")
        life.at(.seconds(19), .announced, .extensionRequested(by: .seconds(10), progress: "a"))
        life.at(.seconds(29), .deadlineReached)
        let coded = try JSONEncoder().encode(life.machine)
        #expect(try JSONDecoder().decode(ReloadMachine.self, from: coded) == life.machine)

        let former = """
            {"begun": \(Self.encoded(Self.start)), "allowance": \(Self.encoded(Duration.seconds(30))),
             "commandCount": 1, "fairness": \(Self.encoded(Fairness())), "mayAnnounce": true,
             "deadline": {"at": \(Self.encoded(Self.start + .seconds(30))), "extended": \(Self.encoded(Duration.seconds(10)))},
             "progress": {"last": "a"}, "current": 0, "isReloading": false, "hasReloaded": false, "isOver": false}
            """
        life.machine = try JSONDecoder().decode(ReloadMachine.self, from: Data(former.utf8))
        life.evidence = Evidence(state: "S")
        #expect(life.nextDeadline == .seconds(30))
        life.evidence.runDelay = .seconds(25)
        life.at(.seconds(30), .deadlineReached)
        // At most the allowance without extensions.
        #expect(life.effects.last == .credited(.seconds(20)))
        life.at(.seconds(50), .deadlineReached)
        #expect(life.effects.suffix(2) == [.cancel, .finish(.commandTimedOut(0))])
    }

    private static func encoded(_ value: some Encodable) -> String {
        (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    @Test("end exactly once, whatever happens")
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
