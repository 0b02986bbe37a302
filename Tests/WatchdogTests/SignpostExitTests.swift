// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Testing
import WatchdogWire

@testable import Watchdog

/// Each test has its own process, because an app starts once and from its environment.
@Suite("Signposts")
struct SignpostExitTests {
    private static func offer() -> Channel {
        let channel = Channel()
        setenv(Wire.Environment.channel, "\(channel.app)", 1)
        return channel
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static var neverMade: String { fatalError("nobody hears it") }

    @Test("an interval has a beginning and an end with times, category, name and messages")
    func interval() async {
        await #expect(processExitsWith: .success) {
            let channel = SignpostExitTests.offer()
            Watchdog.start()
            _ = channel.receive()
            let signposter = Signposter(category: "photos")
            #expect(signposter.isEnabled)
            let before = SignpostExitTests.now
            let id = SignpostID()
            let interval = signposter.beginInterval("load", "8 photos", id: id)
            signposter.endInterval(interval, "done")
            let after = SignpostExitTests.now
            var marks: [ClientMessage.Signpost] = []
            while marks.count < 2, let message = channel.receive() { marks += message.signposts }
            try #require(marks.count == 2)
            #expect(marks.map(\.phase) == [.begin, .end])
            #expect(
                marks.allSatisfy { $0.category == "photos" && $0.name == "load" && $0.id == id.rawValue && $0.id > 0 })
            #expect(marks.map(\.message) == ["8 photos", "done"])
            #expect(before <= marks[0].nanoseconds && marks[0].nanoseconds <= marks[1].nanoseconds)
            #expect(marks[1].nanoseconds <= after)
            #expect(SignpostID() != SignpostID())
        }
    }

    @Test("a mark records whether it was set on the main loop")
    func thread() async {
        await #expect(processExitsWith: .success) {
            let channel = SignpostExitTests.offer()
            Watchdog.start()
            _ = channel.receive()
            let signposter = Signposter(category: "x")
            DispatchQueue.global().sync { signposter.emitEvent("elsewhere") }
            #expect(channel.receive()?.signposts.map(\.isOnMainThread) == [false])
            DispatchQueue.main.async { signposter.emitEvent("main") }
            #expect(channel.receive()?.signposts.map(\.isOnMainThread) == [true])
        }
    }

    @Test("work in an interval returns or throws unchanged")
    func work() async {
        await #expect(processExitsWith: .success) {
            let channel = SignpostExitTests.offer()
            Watchdog.start()
            _ = channel.receive()
            let signposter = Signposter(category: "x")
            #expect(signposter.withIntervalSignpost("sum") { 1 + 1 } == 2)
            #expect(await signposter.withIntervalSignpost("wait") { await Task { 3 }.value } == 3)
            #expect(throws: Watchdog.AttachError.self) {
                try signposter.withIntervalSignpost("throws") { throw Watchdog.AttachError() }
            }
            var names: [String] = []
            while names.count < 6, let message = channel.receive() { names += message.signposts.map(\.name) }
            #expect(names == ["sum", "sum", "wait", "wait", "throws", "throws"])
        }
    }

    @Test("marks set before the app starts are kept until then, and sent with the greeting")
    func early() async {
        await #expect(processExitsWith: .success) {
            let channel = SignpostExitTests.offer()
            let signposter = Signposter(category: "launch")
            for _ in 0..<100 { signposter.emitEvent("static initialisation") }
            Watchdog.start()
            var (messages, count) = (0, 0)
            while count < 100, let message = channel.receive() {
                #expect((message.hello != nil) == (messages == 0))
                (messages, count) = (messages + 1, count + message.signposts.count)
            }
            #expect(count == 100)
            #expect(messages < 10)
        }
    }

    @Test("a flood is sent in batches, and dropped marks are counted")
    func flood() async {
        await #expect(processExitsWith: .success) {
            let channel = SignpostExitTests.offer()
            Watchdog.start()
            _ = channel.receive()
            let signposter = Signposter(category: "flood")
            let count = 20_000
            for _ in 0..<count { signposter.emitEvent("drop") }
            var (arrived, lost, messages) = (0, 0, 0)
            while arrived + lost < count, let message = channel.receive() {
                messages += 1
                arrived += message.signposts.count
                lost += message.signpostsLost ?? 0
            }
            #expect(arrived + lost == count)
            #expect(arrived >= 2000)
            #expect(messages < 1000)
        }
    }

    @Test("without watchdogd marks are free and not sent")
    func alone() async {
        await #expect(processExitsWith: .success) {
            let socket = NotifySocket(NotifySocket.uniqueName("@"))
            setenv(Wire.Environment.notifySocket, socket.name, 1)
            Watchdog.start()
            let signposter = Signposter(category: "x")
            #expect(!signposter.isEnabled)
            signposter.emitEvent("nobody", SignpostExitTests.neverMade)
            Watchdog.ready()
            #expect(socket.receive()?.isReady == true)
            #expect(socket.receive(within: .zero) == nil)
        }
    }
}
