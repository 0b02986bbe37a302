// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TestSupport
import Testing
import WatchdogWire

@testable import Watchdog

@MainActor
@Suite("Background tasks")
struct BackgroundTaskTests {
    @Test("a task is sent with number and name, and its end once")
    func balance() throws {
        let stage = try Stage.launched()
        let (one, two) = (stage.application.beginBackgroundTask(named: "one"), stage.application.beginBackgroundTask())
        for task in [one, one, .invalid, .init(rawValue: 99)] { stage.application.endBackgroundTask(task) }
        let said = stage.turn()
        #expect(said.flatMap(\.tasksBegun).map(\.id) == [one.rawValue, two.rawValue])
        #expect(said.flatMap(\.tasksBegun).map(\.name) == ["one", "Called by WatchdogTests, from balance()"])
        #expect(said.flatMap(\.tasksEnded) == [one.rawValue])
        #expect(one != two && one != .invalid)
    }

    @Test("when the time is over, every open task's handler is called once, in the order in which they began")
    func expiration() throws {
        let stage = try Stage.launched()
        var called: [Int] = []
        let tasks = (0..<5).map { number in
            stage.application.beginBackgroundTask(named: "\(number)") { task in
                called.append(number)
                stage.application.endBackgroundTask(task)
                stage.application.endBackgroundTask(task)
            }
        }
        stage.application.endBackgroundTask(tasks[2])
        stage.enterBackground()
        let said = stage.expire()
        #expect(called == [0, 1, 3, 4])
        #expect(said.flatMap(\.tasksEnded) == [0, 1, 3, 4].map { tasks[$0].rawValue })
        #expect(stage.expire().isEmpty)
        #expect(called.count == 4)
    }

    @Test("a handler may end other tasks, whose handlers are then not called")
    func mutualEnd() throws {
        let stage = try Stage.launched()
        var called = 0
        for _ in 0..<3 {
            _ = stage.application.beginBackgroundTask(named: "x") { _ in
                called += 1
                for id in 1...3 as ClosedRange<UInt64> { stage.application.endBackgroundTask(.init(rawValue: id)) }
            }
        }
        stage.enterBackground()
        #expect(stage.expire().flatMap(\.tasksEnded).count == 3)
        #expect(called == 1)
    }

    @Test("a task without a handler, and one whose handler forgets it, stay open")
    func forgotten() throws {
        let stage = try Stage.launched()
        var called = 0
        let silent = stage.application.beginBackgroundTask(named: "silent")
        let forgetful = stage.application.beginBackgroundTask(named: "forgetful") { _ in called += 1 }
        stage.enterBackground()
        for _ in 0..<3 { #expect(stage.expire().isEmpty) }
        #expect(called == 1)
        for task in [silent, forgetful] { stage.application.endBackgroundTask(task) }
        #expect(stage.turn().flatMap(\.tasksEnded) == [silent.rawValue, forgetful.rawValue])
    }

    @Test("an expiration in the foreground is ignored")
    func foreground() throws {
        let stage = try Stage.launched()
        var called = 0
        _ = stage.application.beginBackgroundTask(named: "x") { _ in called += 1 }
        _ = stage.expire()
        #expect(called == 0)
        stage.enterBackground()
        stage.send(.foreground, 2)
        _ = stage.turn()
        _ = stage.expire()
        #expect(called == 0)
        stage.enterBackground(3)
        _ = stage.expire()
        #expect(called == 1)
    }

    @Test("a task that begins when the time is over has its handler called soon, on the main queue")
    func late() async throws {
        let stage = try Stage.launched()
        stage.enterBackground()
        _ = stage.expire()
        await withCheckedContinuation { continuation in
            let task = stage.application.beginBackgroundTask(named: "late") { _ in
                dispatchPrecondition(condition: .onQueue(.main))
                continuation.resume()
            }
            #expect(task != .invalid)
        }
        #expect(stage.turn().flatMap(\.tasksBegun).map(\.name) == ["late"])
        // The next stay has time again.
        stage.send(.foreground, 2)
        stage.send(.background, 3)
        _ = stage.turn()
        var isCalled = false
        _ = stage.application.beginBackgroundTask(named: "early") { _ in isCalled = true }
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        #expect(!isCalled)
    }

    @Test(
        "the remaining time is known only in the background, follows the supervisor's messages, and is never negative")
    func time() throws {
        let stage = try Stage.launched()
        let application = stage.application
        #expect(application.backgroundTimeRemaining == nil)
        stage.enterBackground(time: .seconds(1800))
        let first = try #require(application.backgroundTimeRemaining)
        #expect(first <= .seconds(1800) && first > .seconds(1000))
        stage.send { $0.backgroundTime = .seconds(3600) }
        _ = stage.turn()
        #expect(try #require(application.backgroundTimeRemaining) > .seconds(3000))
        stage.send { $0.backgroundTime = .microseconds(1) }
        _ = stage.turn()
        #expect(eventually { application.backgroundTimeRemaining == .zero })
        stage.send { $0.backgroundTime = .microseconds(Int64.max) }
        _ = stage.turn()
        #expect(try #require(application.backgroundTimeRemaining) > .seconds(3000))
        stage.send(.foreground, 2)
        _ = stage.turn()
        #expect(application.backgroundTimeRemaining == nil)
        stage.enterBackground(3, time: nil)
        #expect(application.backgroundTimeRemaining == nil)
    }

    @Test("a flood of tasks arrives completely, many per datagram, and STATE_DONE only after all of them")
    func flood() throws {
        let stage = try Stage.launched()
        let count = 1500
        stage.delegate.reactions["did enter background"] = { application in
            for number in 1...count { _ = application.beginBackgroundTask(named: "task \(number)") }
        }
        stage.send(.background, 1)
        var said = stage.turn()
        var turns = 0
        while !said.contains(where: { $0.stateDone != nil }), turns < 100 {
            turns += 1
            said += stage.turn(after: 100_000_000)
        }
        let done = try #require(said.firstIndex { $0.stateDone == 1 })
        let before = said[...done].flatMap(\.tasksBegun)
        #expect(before.map(\.id) == Array(1...UInt64(count)))
        #expect(said.count < 200, "one datagram for each of them is too many")
        for number in 1...UInt64(count) { stage.application.endBackgroundTask(.init(rawValue: number)) }
        var ends = stage.turn(after: 100_000_000).flatMap(\.tasksEnded)
        while ends.count < count, turns < 200 {
            turns += 1
            ends += stage.turn(after: 100_000_000).flatMap(\.tasksEnded)
        }
        #expect(ends == Array(1...UInt64(count)))
    }

    @Test("a flood of short tasks is free: a task that ends before it was sent is not sent")
    func shortTasks() throws {
        let stage = try Stage.launched()
        for _ in 0..<5000 {
            stage.application.endBackgroundTask(stage.application.beginBackgroundTask(named: "short"))
        }
        let said = stage.turn() + stage.turn(after: 100_000_000)
        #expect(said.count <= 101)
        let (begun, ended) = (Set(said.flatMap(\.tasksBegun).map(\.id)), Set(said.flatMap(\.tasksEnded)))
        #expect(begun == ended)
    }

    @Test("tasks begin and end on many threads, and every end follows its beginning")
    func threads() throws {
        let stage = try Stage.launched()
        let application = stage.application
        let numbers = Locked<Set<Application.BackgroundTaskID>>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<250 {
                let task = application.beginBackgroundTask(named: "threads")
                numbers.withLock { _ = $0.insert(task) }
                application.endBackgroundTask(task)
                application.endBackgroundTask(task)
            }
        }
        #expect(numbers.withLock { $0.count } == 2000)
        let said = stage.turn() + stage.turn(after: 100_000_000)
        var open: Set<UInt64> = []
        for message in said {
            for task in message.tasksBegun { #expect(open.insert(task.id).inserted) }
            for id in message.tasksEnded { #expect(open.remove(id) == id) }
        }
        #expect(open.isEmpty)
    }
}
