// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogWire

@testable import Watchdog

@MainActor
@Suite("Launching an application")
struct LaunchTests {
    @Test("the greeting announces the lifecycle")
    func greeting() throws {
        let stage = try Stage()
        #expect(stage.turn().first?.hello?.hasLifecycle == true)
    }

    @Test("a launch into the foreground ends active, and READY comes last")
    func foreground() throws {
        let stage = try Stage()
        _ = stage.turn()
        var states: [Application.State] = []
        for call in ["will finish launching", "did finish launching", "did become active"] {
            stage.delegate.reactions[call] = { application in
                states.append(application.state)
                #expect(stage.channel.drain().allSatisfy { !$0.isReady })
            }
        }
        stage.launch()
        #expect(stage.delegate.calls == ["will finish launching", "did finish launching", "did become active"])
        #expect(states == [.inactive, .inactive, .active])
        #expect(stage.delegate.options == Application.LaunchOptions())
        #expect(stage.turn().map(\.isReady) == [true])
    }

    @Test("a launch into the background does not become active")
    func background() throws {
        let stage = try Stage()
        stage.launch(inBackground: true, event: "push")
        #expect(stage.delegate.calls == ["will finish launching", "did finish launching"])
        #expect(stage.application.state == .background)
        #expect(stage.delegate.options?.isInBackground == true)
        #expect(stage.delegate.options?.eventKind == "push")
        #expect(stage.turn().last?.isReady == true)
        stage.send(.foreground, 1)
        #expect(stage.turn().map(\.stateDone) == [1])
        #expect(stage.delegate.calls.suffix(2) == ["will enter foreground", "did become active"])
    }

    @Test("messages during the launch are handled right after it, in order")
    func early() throws {
        let stage = try Stage()
        stage.delegate.reactions["did finish launching"] = { _ in
            stage.send { $0.event = .init(kind: "url", id: 1, payload: "photo:7") }
            stage.send(.background, 1)
            _ = stage.turn()
            #expect(stage.delegate.calls.last == "did finish launching")
        }
        stage.launch(event: "url")
        let calls = stage.delegate.calls.dropFirst(2)
        #expect(calls.first == "did become active")
        #expect(Array(calls.dropFirst()) == ["event url", "will resign active", "did enter background"])
        #expect(stage.delegate.events == [.init(kind: "url", payload: "photo:7")])
        let said = stage.turn()
        #expect(said.map(\.isReady) == [true, false, false])
        #expect(said.map(\.eventDone) == [nil, 1, nil])
        #expect(said.map(\.stateDone) == [nil, nil, 1])
    }

    @Test("the first frame is sent once, and may precede the end of the launch")
    func firstFrame() throws {
        let stage = try Stage()
        _ = stage.turn()
        stage.delegate.reactions["did finish launching"] = { $0.firstFrame() }
        stage.launch()
        stage.application.firstFrame()
        let said = stage.turn()
        #expect(said.map(\.isFirstFrame) == [true, false])
        #expect(said.map(\.isReady) == [false, true])
    }

    @Test("overlapping tasks, the first of which begins before it is over, extend a launch")
    func extended() throws {
        let stage = try Stage()
        _ = stage.turn()
        stage.delegate.reactions["did finish launching"] = { application in
            #expect(throws: Never.self) { try application.extendLaunch("rows") }
        }
        stage.launch()
        let application = stage.application
        try application.extendLaunch("plots")
        try application.finishExtendedLaunch("rows")
        #expect(throws: Application.ExtendedLaunchError.unknown("rows")) {
            try application.finishExtendedLaunch("rows")
        }
        #expect(throws: Application.ExtendedLaunchError.duplicate("rows")) { try application.extendLaunch("rows") }
        try application.finishExtendedLaunch("plots")
        #expect(throws: Application.ExtendedLaunchError.tooLate) { try application.extendLaunch("late") }
        let said = stage.turn()
        #expect(said.flatMap(\.launchTasksBegun) == ["rows", "plots"])
        #expect(said.flatMap(\.launchTasksEnded) == ["rows", "plots"])
    }

    @Test("at most sixteen tasks extend a launch")
    func extendedLimit() throws {
        let stage = try Stage()
        for number in 1...16 { try stage.application.extendLaunch("\(number)") }
        #expect(throws: Application.ExtendedLaunchError.tooMany) { try stage.application.extendLaunch("17") }
        try stage.application.finishExtendedLaunch("1")
        #expect(throws: Application.ExtendedLaunchError.tooMany) { try stage.application.extendLaunch("17") }
    }

    @Test("a finished launch cannot be extended for the first time")
    func extendedTooLate() throws {
        let stage = try Stage.launched()
        let error = #expect(throws: Application.ExtendedLaunchError.self) { try stage.application.extendLaunch("late") }
        #expect(error == .tooLate)
        #expect(error?.description.contains("before") == true)
    }
}
