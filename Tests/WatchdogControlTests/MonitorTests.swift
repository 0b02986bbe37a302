// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogControl

@Suite("Monitor")
struct MonitorTests {
    private func event(_ number: Int, app: String? = "web") -> ControlEvent {
        ControlEvent(.ready, app: app, message: "event \(number)", time: Timestamp(microseconds: Int64(number)))
    }

    private func decode(_ message: String?) throws -> MonitorReply {
        struct Success: Decodable {
            let parameters: MonitorReply
            let continues: Bool
        }
        let message = try #require(message)
        let success = try JSONDecoder().decode(Success.self, from: Data(message.utf8))
        #expect(success.continues)
        return success.parameters
    }

    private func monitor(_ station: Station, _ parameters: String = "{}") throws -> RawCaller {
        let caller = try RawCaller(station)
        caller.call("\(own).Monitor", parameters, #","more":true"#)
        #expect(try decode(try caller.next()) == MonitorReply())
        return caller
    }

    @Test("after the first, empty reply, every event is sent in order, with a number")
    func events() throws {
        let station = try Station()
        station.server.publish(event(1))
        let caller = try monitor(station)
        for number in 2...200 { station.server.publish(event(number, app: number % 2 == 0 ? "web" : nil)) }
        for number in 2...200 {
            let event = try #require(try decode(try caller.next()).event)
            #expect(event.sequence == number)
            #expect(event.message == "event \(number)")
            #expect(event.app == (number % 2 == 0 ? "web" : nil))
            #expect(event.time.microseconds == Int64(number))
        }
        #expect(station.server.statistics.missedEvents == 0)
    }

    @Test("events of the requested apps and of all apps are sent, and the history counts only these")
    func filter() throws {
        let station = try Station()
        for number in 1...30 { station.server.publish(event(number, app: ["web", "api", "db"][number % 3])) }
        let caller = try monitor(station, #"{"apps":["web"],"history":4}"#)
        station.server.publish(event(31, app: "api"))
        station.server.publish(event(32, app: nil))
        station.server.publish(event(33, app: "web"))
        for number in [21, 24, 27, 30, 32, 33] { #expect(try decode(try caller.next()).event?.sequence == number) }
        let all = try monitor(station, #"{"history":1000000}"#)
        for number in 1...33 { #expect(try decode(try all.next()).event?.sequence == number) }
    }

    @Test("an unknown name is an error with the nearest one")
    func wrongName() throws {
        let station = try Station()
        let place = ControlPath(station.path)
        let error = try station.serving {
            #expect(throws: ControlClientError.self) {
                let client = try ControlClient(place, patience: patience)
                try client.monitor(MonitorRequest(apps: ["api", "wbe"])) { _ in false }
            }
        }
        #expect(error?.controlError == .noSuchApp("wbe", suggestion: "web"))
    }

    @Test("a subscriber that never reads delays nobody, uses bounded memory, and learns how many events it missed")
    func neverReading() throws {
        var limits = ControlLimits()
        limits.eventHistory = 100
        // Under a sanitizer on a busy machine, the test takes minutes.
        limits.unreadPatience = .seconds(3600)
        let station = try Station(limits: limits)
        let asleep = try monitor(station)
        let awake = try monitor(station)
        let other = try RawCaller(station)
        var firings = 0
        var timer: WatchdogLinux.Timer?
        timer = try station.loop.timer(priority: .idle) { _ in
            firings += 1
        }
        let total = 20_000
        let text = String(repeating: "x", count: 200)
        for number in 1...total {
            timer?.arm(at: station.loop.now)
            let before = firings
            station.server.publish(
                ControlEvent(.ready, app: "web", message: "\(number) \(text)", time: Timestamp(microseconds: 0)))
            // At each wake-up the deadline is due, and is served before any caller.
            _ = try station.loop.runOnce(limit: .seconds(1))
            #expect(firings == before + 1)
            try station.settle()
            #expect(try decode(try awake.next()).event?.sequence == number)
            if number % 1000 == 0 {
                other.call("\(service).GetInfo")
                #expect(try #require(try other.next()).contains("1.2.3"))
            }
        }
        timer = nil
        // Now it reads the buffers of the kernel and the server, then the number of missed events, then the latest.
        var last = 0
        var missed = 0
        while last < total {
            let reply = try decode(try asleep.next())
            missed += reply.missed ?? 0
            guard let event = reply.event else { continue }
            #expect(event.sequence == last + missed + 1)
            last = event.sequence
            missed = 0
        }
        #expect(station.server.statistics.missedEvents > total / 2)
        #expect(station.server.statistics.open == 3)
    }

    @Test("a subscriber that does not read is disconnected after its patience")
    func unread() throws {
        var limits = ControlLimits()
        limits.unreadPatience = .milliseconds(30)
        let station = try Station(limits: limits)
        let asleep = try monitor(station)
        let text = String(repeating: "x", count: 1000)
        for _ in 0..<1000 {
            station.server.publish(ControlEvent(.ready, message: text, time: Timestamp(microseconds: 0)))
        }
        try station.turn { station.server.statistics.unread == 1 }
        #expect(station.server.statistics.open == 0)
        asleep.read()
        #expect(asleep.isEnded)
    }

    @Test("subscribers that disconnect during an event leave nothing behind")
    func gone() throws {
        let station = try Station()
        var callers = try (0..<20).map { _ in try monitor(station) }
        for number in 1...50 {
            station.server.publish(event(number))
            if number % 5 == 0 { callers.removeLast() }
            _ = try station.loop.runOnce(limit: .zero)
        }
        callers.removeAll()
        try station.turn { station.server.statistics.open == 0 }
        station.server.publish(event(51))
        try station.settle()
    }

    @Test(
        "a subscriber that has closed its sending side still gets events; its later calls run without a reply"
    )
    func halfClosed() throws {
        let station = try Station()
        let caller = try monitor(station)
        caller.call("\(own).Reload")
        caller.finish()
        try station.settle()
        station.server.publish(event(1))
        #expect(try decode(try caller.next()).event?.sequence == 1)
        #expect(station.handler.calls == ["reload"])
    }

    @Test("the client reports events until the closure has enough")
    func client() throws {
        let station = try Station()
        let place = ControlPath(station.path)
        for number in 1...5 { station.server.publish(event(number)) }
        let told = try station.serving {
            var replies: [MonitorReply] = []
            try ControlClient(place, patience: patience).monitor(MonitorRequest(apps: ["web"], history: 3)) { reply in
                replies.append(reply)
                return replies.count < 4
            }
            return replies
        }
        #expect(told.map { $0.event?.sequence } == [nil, 3, 4, 5])
        try station.turn { station.server.statistics.open == 0 }
    }

    @Test("the exit of watchdogd ends the client's monitoring with a reason")
    func clientEnd() throws {
        let station = try Station()
        let place = ControlPath(station.path)
        let server = station.server
        let soon = try station.loop.timer { _ in if server.statistics.calls > 0 { server.stop() } }
        let tick = try station.loop.afterEvents { if server.statistics.calls > 0 { soon.arm(at: station.loop.now) } }
        let error = try station.serving {
            #expect(throws: ControlClientError.self) {
                try ControlClient(place, patience: patience).monitor { _ in true }
            }
        }
        #expect(error?.description == "watchdogd is shutting down")
        tick.cancel()
    }

    // MARK: - The ring

    @Test("the ring keeps the latest events, and counts the dropped ones")
    func ring() {
        var ring = EventRing(capacity: 4)
        var early = ring.cursor(apps: nil, history: 0)
        for number in 1...10 { ring.append(event(number)) }
        func read(_ cursor: inout EventRing.Cursor) -> [String] {
            var steps: [String] = []
            while let step = ring.read(&cursor, encode: { Array("\($0.sequence)".utf8) }) {
                switch step {
                case .missed(let count): steps.append("missed \(count)")
                case .skipped: steps.append("skipped")
                case .reply(let bytes): steps.append(String(decoding: bytes, as: UTF8.self))
                }
            }
            return steps
        }
        #expect(read(&early) == ["missed 6", "7", "8", "9", "10"])
        #expect(read(&early) == [])
        #expect(!ring.hasMore(for: early))
        var history = ring.cursor(apps: nil, history: 2)
        #expect(read(&history) == ["9", "10"])
        var all = ring.cursor(apps: nil, history: 100)
        #expect(read(&all) == ["7", "8", "9", "10"])
        var others = ring.cursor(apps: ["api"], history: 100)
        #expect(read(&others) == ["skipped", "skipped", "skipped", "skipped"])
        ring.append(event(11, app: "api"))
        #expect(read(&others) == ["11"])
        #expect(read(&early) == ["11"])
    }

    @Test("the ring returns each event as it was, however many it has dropped")
    func wholeEvents() {
        var ring = EventRing(capacity: 8)
        for number in 1...2_000 {
            let text = String(repeating: "ü", count: number % 97)
            var expected = ControlEvent(
                .reported, app: number % 3 == 0 ? nil : "app\(number)", message: text,
                time: Timestamp(microseconds: Int64(number)), pid: number % 2 == 0 ? nil : Int32(number),
                report: number % 5 == 0 ? "/reports/\(text)" : nil)
            ring.append(expected)
            expected.sequence = number
            var cursor = ring.cursor(apps: nil, history: 1)
            var read: ControlEvent?
            _ = ring.read(&cursor) {
                read = $0
                return [1]
            }
            #expect(read == expected)
        }
        var all = ring.cursor(apps: nil, history: 8, isOutlined: true)
        var numbers: [Int64] = []
        for _ in 1...8 {
            _ = ring.read(&all) { event in
                numbers.append(event.time.microseconds)
                return [1]
            }
        }
        #expect(numbers == Array(1_993...2_000))
    }

    @Test("each event is encoded once, however many subscribers read it")
    func encodedOnce() {
        var ring = EventRing(capacity: 8)
        var cursors = (0..<10).map { _ in ring.cursor(apps: nil, history: 0) }
        ring.append(event(1))
        var encoded = 0
        for index in cursors.indices {
            _ = ring.read(&cursors[index]) { _ in
                encoded += 1
                return [1]
            }
        }
        #expect(encoded == 1)
    }
}
