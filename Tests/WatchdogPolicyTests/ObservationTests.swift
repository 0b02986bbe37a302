// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogPolicy

@Suite("The observation of an app whose allowance runs")
struct ObservationTests {
    private static func spec(_ delay: Duration? = .seconds(1), update: Duration = .seconds(10)) -> AppSpec {
        var spec = AppSpec(name: "App", allowances: Allowances(update: update))
        spec.observationDelay = delay
        return spec
    }

    private static func looks(_ life: Timeline) -> [String] {
        life.log.compactMap { entry in
            switch entry.effect {
            case .observe: "observe at \(entry.at)"
            case .endObservation(let hang): "end at \(entry.at)" + (hang.map { ", hang of \($0.duration)" } ?? "")
            default: nil
            }
        }
    }

    @Test("begins a second after the ping, or at half of a shorter allowance", arguments: [10, 1])
    func beginning(seconds: Int) {
        var life = Timeline.pinging(Self.spec(update: .seconds(seconds)))
        let expected: Duration = seconds == 10 ? .seconds(1) : .milliseconds(500)
        life.run(to: expected - .nanoseconds(1))
        #expect(Self.looks(life) == [])
        #expect(life.nextDeadline == expected)
        life.run(to: expected)
        #expect(Self.looks(life) == ["observe at \(expected)"])
        #expect(life.nextDeadline == (seconds == 10 ? .seconds(5) : .seconds(1)), "half of the allowance, or its end")
    }

    @Test("ends with the answer, and reports the length of the hang")
    func answer() {
        var life = Timeline.pinging(Self.spec())
        life.at(.milliseconds(3_250), .ponged(nonce: life.nonces[0]))
        #expect(
            Self.looks(life) == [
                "observe at \(Duration.seconds(1))",
                "end at \(Duration.milliseconds(3_250)), hang of \(Duration.milliseconds(3_250))",
            ])
        #expect(life.notices.contains(.hung(for: .milliseconds(3_250))))
        #expect(life.incidents.isEmpty)
    }

    @Test("counts the app as answering before it begins, and after the answer")
    func isAnswering() {
        var life = Timeline.pinging(Self.spec())
        life.run(to: .seconds(1) - .nanoseconds(1))
        #expect(life.machine.isAnswering(at: life.now))
        life.run(to: .seconds(1))
        #expect(!life.machine.isAnswering(at: life.now))
        life.at(.milliseconds(3_250), .ponged(nonce: life.nonces[0]))
        #expect(life.machine.isAnswering(at: life.now))
        life.run(to: .seconds(60))
        #expect(!life.machine.isAnswering(at: life.now), "it was killed")
    }

    @Test("does not begin if the answer comes first")
    func quickAnswer() {
        var life = Timeline.pinging(Self.spec())
        life.at(.seconds(1) - .nanoseconds(1), .ponged(nonce: life.nonces[0]))
        #expect(Self.looks(life) == [])
    }

    @Test("lasts through the kill, which is not a hang that ended by itself")
    func kill() {
        var life = Timeline.pinging(Self.spec())
        life.run(to: .seconds(11))
        #expect(life.incidents.count == 1)
        #expect(Self.looks(life).count == 2)
        #expect(!Self.looks(life)[1].contains("hang"))
    }

    @Test(
        "the observation of a launch begins after a second, and readiness ends it without a hang", arguments: [20, 1])
    func launch(seconds: Int) {
        var spec = Self.spec()
        (spec.readiness, spec.allowances.launch) = (.notify, .seconds(seconds))
        let expected: Duration = seconds == 20 ? .seconds(1) : .milliseconds(500)
        var life = Timeline(spec)
        life.run(to: expected - .nanoseconds(1))
        #expect(Self.looks(life) == [])
        life.run(to: expected)
        life.at(expected + .milliseconds(100), .hello)
        life.at(expected + .milliseconds(300), .ready(.notify))
        #expect(
            Self.looks(life) == ["observe at \(expected)", "end at \(expected + .milliseconds(300))"])
    }

    @Test("never begins for an app that pushes at half of its interval")
    func pushing() {
        var life = Timeline.pushing(Self.spec(), every: .seconds(10))
        for second in stride(from: 5, through: 60, by: 5) { life.at(.seconds(second), .watchdogPinged) }
        #expect(Self.looks(life) == [])
        life.run(to: .seconds(60) + .milliseconds(7_500))
        #expect(Self.looks(life).count == 1)
    }

    @Test("the observation of an app that pushes ends without a hang: the app chose its own interval")
    func latePush() {
        var life = Timeline.pushing(Self.spec(), every: .seconds(10))
        life.at(.seconds(8), .watchdogPinged)
        #expect(Self.looks(life) == ["observe at \(Duration.milliseconds(7_500))", "end at \(Duration.seconds(8))"])
    }

    @Test("begins again if the allowance starts over")
    func startedOver() {
        var life = Timeline.pinging(Self.spec())
        life.run(to: .seconds(1))
        life.at(.seconds(5), .machineResumed(suspension: .minutes(1)))
        #expect(Self.looks(life).count == 2)
        life.run(to: .seconds(6))
        #expect(Self.looks(life).suffix(1) == ["observe at \(Duration.seconds(6))"])
    }

    @Test("an observation that the previous supervisor began ends with the answer")
    func resumed() throws {
        var life = Timeline.pinging(Self.spec())
        life.run(to: .seconds(1))
        life.replace(try #require(ProcessMachine(resuming: life.machine)))
        life.tell(.supervisorReturned(isLastStepDone: true))
        life.at(.seconds(2), .ponged(nonce: life.nonces[0]))
        #expect(Self.looks(life).count == 2)
    }

    @Test("never begins without a configured delay")
    func off() {
        var life = Timeline.pinging(Self.spec(nil))
        life.run(to: .seconds(11))
        #expect(Self.looks(life) == [])
    }
}
