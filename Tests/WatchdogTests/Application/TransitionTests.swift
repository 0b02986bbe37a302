// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogWire

@testable import Watchdog

@MainActor
@Suite("State transitions of an application")
struct TransitionTests {
    @Test("a move to the background and back calls the delegate in order and answers with the numbers")
    func thereAndBack() throws {
        let stage = try Stage.launched()
        var states: [Application.State] = []
        for call in ["will resign active", "did enter background", "will enter foreground", "did become active"] {
            stage.delegate.reactions[call] = { states.append($0.state) }
        }
        stage.send(.background, 1)
        #expect(stage.turn().map(\.stateDone) == [1])
        #expect(stage.delegate.takeCalls() == ["will resign active", "did enter background"])
        stage.send(.foreground, 2)
        #expect(stage.turn().map(\.stateDone) == [2])
        #expect(stage.delegate.takeCalls() == ["will enter foreground", "did become active"])
        #expect(states == [.active, .background, .background, .active])
    }

    @Test("the answer follows the return of the callback, and the tasks that it began")
    func answerLast() throws {
        let stage = try Stage.launched()
        stage.delegate.reactions["did enter background"] = { application in
            _ = application.beginBackgroundTask(named: "one")
            _ = application.beginBackgroundTask(named: "two")
            #expect(stage.channel.drain().map(\.stateDone) == [nil, nil])
        }
        stage.send(.background, 1)
        #expect(stage.turn().map(\.stateDone) == [1])
    }

    @Test("requests that arrive together are handled one after another")
    func together() throws {
        let stage = try Stage.launched()
        stage.send(.background, 1)
        stage.send(.foreground, 2)
        stage.send(.background, 3)
        #expect(stage.turn().map(\.stateDone) == [1, 2, 3])
        #expect(stage.delegate.calls.count == 6)
        #expect(stage.application.state == .background)
    }

    @Test("a repeated or overtaken request is answered again and changes nothing")
    func repeated() throws {
        let stage = try Stage.launched()
        stage.send(.background, 5)
        stage.send(.background, 5)
        stage.send(.foreground, 5)
        stage.send(.foreground, 4)
        #expect(stage.turn().map(\.stateDone) == [5, 5, 5, 5])
        #expect(stage.delegate.takeCalls() == ["will resign active", "did enter background"])
        stage.send(.background, 6)
        #expect(stage.turn().map(\.stateDone) == [6])
        #expect(stage.delegate.takeCalls() == [])
    }

    @Test("events are handled in order, each once")
    func events() throws {
        let stage = try Stage.launched()
        for id in [1, 2, 2, 1, 3] as [UInt64] {
            stage.send { $0.event = .init(kind: "tap", id: id, payload: "\(id)") }
        }
        #expect(stage.turn().map(\.eventDone) == [1, 2, 2, 2, 3])
        #expect(stage.delegate.events.map(\.payload) == ["1", "2", "3"])
    }

    @Test("an event for which nothing listens is reported as lost, once, before it is done")
    func lostEvent() throws {
        let stage = try Stage.launched()
        stage.delegate.reactions["event url"] = { $0.loseEvent() }
        for (id, kind) in [(1, "tap"), (2, "url"), (2, "url"), (3, "tap")] as [(UInt64, String)] {
            stage.send { $0.event = .init(kind: kind, id: id, payload: "p", sender: "mail") }
        }
        let said = stage.turn()
        #expect(said.map(\.eventsLost).filter { !$0.isEmpty } == [[2]])
        // In one message, so that the event is not taken for a handled one first.
        #expect(said.first { $0.eventDone == 2 }?.eventsLost == [2])
        #expect(stage.delegate.events.map(\.sender) == ["mail", "mail", "mail"])
    }

    @Test("a delegate that handles no events loses each of them; a call outside of a handler loses none")
    func unheard() {
        final class Deaf: ApplicationDelegate {}
        let said = Locked<[ClientMessage]>([])
        let application = Application(
            Deaf(),
            Application.Surroundings(
                say: { change in
                    var message = ClientMessage()
                    change(&message)
                    said.withLock { $0.append(message) }
                }, store: nil, end: {}))
        application.launch(Application.LaunchOptions())
        application.loseEvent()
        for id in 1...2 as ClosedRange<UInt64> {
            var message = SupervisorMessage()
            message.event = .init(kind: "url", id: id)
            application.receive(message)
        }
        #expect(said.withLock { $0.flatMap(\.eventsLost) } == [1, 2])
    }

    @Test("within a datagram, the state precedes the expiration, then comes the event, and the termination last")
    func oneDatagram() throws {
        let stage = try Stage.launched()
        _ = stage.application.beginBackgroundTask(named: "x") { _ in stage.application.firstFrame() }
        stage.send {
            ($0.transition, $0.backgroundTime) = (.init(to: .background, id: 1), .seconds(9))
            ($0.isExpiring, $0.isTerminating) = (true, true)
            $0.event = .init(kind: "tap", id: 1)
        }
        stage.delegate.reactions["did enter background"] = { #expect($0.backgroundTimeRemaining != nil) }
        let said = stage.turn()
        #expect(said.map(\.stateDone) == [nil, 1, nil, nil, nil])
        #expect(said.map(\.isFirstFrame) == [false, false, true, false, false])
        #expect(said.map(\.eventDone) == [nil, nil, nil, 1, nil])
        #expect(said.map(\.isStopping) == [false, false, false, false, true])
    }

    @Test(
        "a random stream of repeated requests in any order keeps the callbacks in sequence",
        arguments: 0..<20 as Range<UInt64>)
    func storm(seed: UInt64) throws {
        let stage = try Stage.launched()
        var random = SeededGenerator(seed: seed)
        var highest: UInt64 = 0
        for _ in 0..<200 {
            let id = UInt64.random(in: max(1, highest &- min(highest, 3))...(highest + 2), using: &random)
            highest = max(highest, id)
            stage.send(Bool.random(using: &random) ? .foreground : .background, id)
            if Bool.random(using: &random) { _ = stage.expire() }
            #expect(stage.turn().allSatisfy { $0.stateDone == highest || $0.stateDone == nil })
        }
        let calls = stage.delegate.takeCalls()
        let round = ["will resign active", "did enter background", "will enter foreground", "did become active"]
        #expect(calls == calls.indices.map { round[$0 % 4] })
    }

    @Test("termination saves, calls the delegate and ends the process, once")
    func terminate() throws {
        let stage = try Stage(store: RestorationStore(folder: "/proc/self/nowhere"))
        stage.launch()
        _ = stage.turn()
        _ = stage.delegate.takeCalls()
        stage.delegate.reactions["will terminate"] = { application in
            #expect(stage.channel.drain().map(\.isStopping) == [true])
            #expect(application.beginBackgroundTask(named: "too late") == .invalid)
            application.terminate()
        }
        stage.send { $0.isTerminating = true }
        stage.send { $0.isTerminating = true }
        stage.send(.background, 1)
        #expect(stage.turn().isEmpty)
        stage.application.terminate()
        #expect(stage.delegate.calls == ["will encode", "will terminate"])
        #expect(stage.endCount == 1)
    }

    @Test("a supervisor that disappears leaves the app in its state, without a limit")
    func disconnected() throws {
        let stage = try Stage.launched()
        stage.enterBackground()
        #expect(stage.application.backgroundTimeRemaining != nil)
        stage.channel.hangUp()
        _ = stage.turn()
        #expect(stage.application.backgroundTimeRemaining == nil)
        let task = stage.application.beginBackgroundTask(named: "still")
        #expect(task != .invalid)
        stage.application.endBackgroundTask(task)
        #expect(stage.application.state == .background)
    }
}
