// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogControl

@Suite("Connections")
struct ConnectionTests {
    @Test(
        "input that is not a call ends its connection with the reason, and no other connection",
        arguments: [
            ("", "a message is empty"),
            ("hello", "a message is not a JSON object"),
            ("[]", "a message is not a JSON object"),
            ("\u{feff}{}", "a message is not a JSON object"),
            ("{}", #"a message is not a call: it has no \"method\""#),
            (#"{"method":3}"#, #"a message is not a call: \"method\" is of the wrong kind"#),
            (#"{"method":null}"#, #"a message is not a call: \"method\" is of the wrong kind"#),
            (#"{"method":"a.b","oneway":"yes"}"#, #"a message is not a call: \"oneway\" is of the wrong kind"#),
            (#"{"method":"a.b"#, "a message is not a call: it is not JSON"),
            (#"{"method":"a.b"}}"#, "a message is not a call: it is not JSON"),
            (#"{"method":"\ud800"}"#, "a message is not a call: it is not JSON"),
            (
                #"{"method":"a","x":"# + String(repeating: "[", count: 100_000),
                "a message nests arrays and objects more than 32 deep"
            ),
            (
                #"{"method":""# + String(repeating: "m", count: 257) + #""}"#,
                "a message is not a call: the method's name has more than 256 bytes"
            ),
        ]
    )
    func malformed(message: String, reason: String) throws {
        let station = try Station()
        let other = try RawCaller(station)
        let caller = try RawCaller(station)
        caller.say(message)
        // Later input is ignored.
        caller.call("\(own).Reload")
        #expect(
            try caller.next()
                == #"{"error":"org.watchdogd.Supervisor.MalformedMessage","parameters":{"reason":"\#(reason)"}}"#)
        try caller.expectEnd()
        #expect(station.handler.calls == [])
        #expect(station.server.statistics.malformed == 1)
        #expect(station.notices.map(\.peer?.pid) == [getpid()])
        other.call("\(own).Reload")
        #expect(try #require(try other.next()).contains("added"))
    }

    @Test("bytes that are not UTF-8 are not a call")
    func invalidUTF8() throws {
        let station = try Station()
        let caller = try RawCaller(station)
        caller.send(Array(#"{"method":"a."#.utf8) + [0xff, 0xc0, 0x80] + Array(#""}"#.utf8) + [0])
        #expect(try #require(try caller.next()).contains("MalformedMessage"))
        try caller.expectEnd()
    }

    @Test("a message without an end is rejected at the limit, and uses no more memory")
    func oversized() throws {
        let station = try Station()
        let caller = try RawCaller(station)
        let limit = station.server.limits.messageBytes
        #expect(limit == 1 << 20)
        caller.send(#"{"method":""#.utf8)
        let chunk = [UInt8](repeating: UInt8(ascii: "m"), count: 64 << 10)
        for _ in 0..<(limit / chunk.count + 4) {
            caller.send(chunk)
            try station.settle()
        }
        let answer = try #require(try caller.next())
        #expect(answer.contains("a message may have at most \(limit) bytes"))
        try caller.expectEnd()
        #expect(station.server.statistics.open == 0)
    }

    @Test("a message of exactly the limit is read, and one byte more is rejected")
    func exactLimit() throws {
        var limits = ControlLimits()
        limits.messageBytes = 300
        let station = try Station(limits: limits)
        let caller = try RawCaller(station)
        let call = #"{"method":"\#(own).Reload"}"#
        caller.say(call + String(repeating: " ", count: 300 - call.utf8.count))
        caller.say(call + String(repeating: " ", count: 301 - call.utf8.count))
        #expect(try #require(try caller.next()).contains("added"))
        #expect(try #require(try caller.next()).contains("at most"))
        try caller.expectEnd()
    }

    @Test("random bytes and mutilated calls never crash the server")
    func fuzz() throws {
        let station = try Station()
        var generator = SeededGenerator(seed: 0x8bad_f00d)
        let calls = [
            #"{"method":"\#(own).List"}"#, #"{"method":"\#(own).Describe","parameters":{"name":"web","logLines":3}}"#,
            #"{"method":"\#(own).Monitor","more":true,"parameters":{"apps":["web"],"history":9}}"#,
            #"{"method":"\#(own).Launch","oneway":true,"parameters":{"name":"w\u0065b","wait":false}}"#,
            #"{"method":"\#(service).GetInterfaceDescription","parameters":{"interface":"\#(own)"}}"#,
        ]
        let spice = Array(#"{}[]",:\0123456789eE+-.truefalsn"#.utf8) + [0, 0xff, 0xc3, 0x80, 0xed]
        for _ in 0..<1500 {
            let caller = try RawCaller(station)
            for _ in 0...Int.random(in: 0...3, using: &generator) {
                var bytes = Array(calls.randomElement(using: &generator, or: "").utf8)
                switch Int.random(in: 0...3, using: &generator) {
                case 0:
                    bytes = (0..<Int.random(in: 0...400, using: &generator)).map { _ in
                        UInt8.random(in: 0 ... .max, using: &generator)
                    }
                case 1:
                    bytes = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                        spice.randomElement(using: &generator, or: 0)
                    }
                default:
                    for _ in 0..<Int.random(in: 0...2, using: &generator) where !bytes.isEmpty {
                        let place = Int.random(in: 0..<bytes.count, using: &generator)
                        switch Int.random(in: 0...2, using: &generator) {
                        case 0: bytes[place] = spice.randomElement(using: &generator, or: 0)
                        case 1: bytes.remove(at: place)
                        default: bytes.insert(spice.randomElement(using: &generator, or: 0), at: place)
                        }
                    }
                }
                caller.send(bytes + (Bool.random(using: &generator) ? [0] : []))
                if Bool.random(using: &generator) { try station.settle() }
            }
            if Bool.random(using: &generator) { caller.finish() }
            try station.settle()
            caller.read()
        }
        try station.turn { station.server.statistics.open == 0 }
        #expect(station.server.statistics.accepted == 1500)
        #expect(station.server.statistics.calls > 200)
        #expect(station.server.statistics.malformed > 500)
        let caller = try RawCaller(station)
        caller.call("\(service).GetInfo")
        #expect(try #require(try caller.next()).contains("1.2.3"))
    }

    @Test("64 simultaneous callers are served, and the 65th gets an error with the reason")
    func manyCallers() throws {
        let station = try Station()
        let callers = try (0..<64).map { _ in try RawCaller(station) }
        for round in 0..<3 {
            for caller in callers { caller.call("\(own).Launch", #"{"name":"web"}"#) }
            for caller in callers { #expect(try caller.next() == #"{"parameters":{"pid":4711}}"#, "\(round)") }
        }
        #expect(station.server.statistics.open == 64)
        let late = try RawCaller(station)
        #expect(
            try late.next() == #"{"error":"org.watchdogd.Supervisor.TooManyConnections","parameters":{"limit":64}}"#)
        try late.expectEnd()
        #expect(station.notices.map(\.kind) == [.refused])
        let place = ControlPath(station.path)
        let refusal = try station.serving { () -> String in
            // Its call may find the connection already closed; the reason can still be read.
            do {
                return try "\(ControlClient(place, patience: patience).list())"
            } catch {
                return "\(error)"
            }
        }
        #expect(refusal == "watchdogd has 64 connections from you and accepts no more")
        callers[0].finish()
        try callers[0].expectEnd()
        let next = try RawCaller(station)
        next.call("\(service).GetInfo")
        #expect(try #require(try next.next()).contains("1.2.3"))
    }

    @Test("64 threads with clients that call constantly are all served")
    func hammering() throws {
        let station = try Station(FakeHandler((0..<100).map { "app-\($0)" }))
        let place = ControlPath(station.path)
        let results = try Mailbox<Result<Int, any Error>>()
        var sums: [Int] = []
        let source = try station.loop.receive(from: results) { result in
            if case .success(let count) = result { sums.append(count) } else { sums.append(-1) }
        }
        for _ in 0..<64 {
            startThread {
                results.post(
                    Result {
                        let client = try ControlClient(place, patience: patience)
                        return try (0..<5).reduce(0) { sum, index in
                            _ = try client.launch(AppRequest("app-\(index)"))
                            return sum + (try client.list().apps.count)
                        }
                    })
            }
        }
        try station.turn { sums.count == 64 }
        #expect(sums.allSatisfy { $0 == 500 })
        #expect(station.handler.calls.count == 320)
        source.cancel()
    }

    @Test("a caller that does not read delays nobody, uses bounded memory, and is disconnected after a limit")
    func unreadReplies() throws {
        var limits = ControlLimits()
        limits.unreadPatience = .milliseconds(30)
        let station = try Station(FakeHandler((0..<1000).map { "app-\($0)" }), limits: limits)
        let greedy = try RawCaller(station)
        for _ in 0..<20 { greedy.call("\(own).List") }
        let other = try RawCaller(station)
        for _ in 0..<20 {
            other.call("\(service).GetInfo")
            #expect(try #require(try other.next()).contains("1.2.3"))
        }
        try station.turn { station.server.statistics.unread == 1 }
        #expect(station.notices.map(\.kind) == [.unread])
        // The kernel's buffer and the server's, not twenty lists of 200 KB.
        greedy.read()
        #expect(greedy.received.count < 1 << 20)
        #expect(greedy.isEnded)
        other.call("\(service).GetInfo")
        #expect(try #require(try other.next()).contains("1.2.3"))
    }

    @Test("a silent connection is closed after its patience; one that waits or monitors is not")
    func silence() throws {
        var limits = ControlLimits()
        // Longer than a busy machine takes to read the others' messages.
        limits.silencePatience = .seconds(1)
        let station = try Station(limits: limits)
        let waiting = try RawCaller(station)
        waiting.call("\(own).Terminate", #"{"name":"web","wait":true}"#)
        let monitoring = try RawCaller(station)
        monitoring.call("\(own).Monitor", "{}", #","more":true"#)
        #expect(try monitoring.next() == #"{"continues":true,"parameters":{}}"#)
        try station.turn { station.handler.pendingTerminations.count == 1 }
        let silent = try RawCaller(station)
        let half = try RawCaller(station)
        half.send(#"{"method":"#.utf8)
        try silent.expectEnd()
        try half.expectEnd()
        #expect(station.server.statistics.silent == 2)
        #expect(station.server.statistics.open == 2)
        station.handler.pendingTerminations.removeFirst().succeed(TerminateReply(isGone: true))
        #expect(try waiting.next() == #"{"parameters":{"isGone":true}}"#)
        try waiting.expectEnd()
    }

    @Test("calls above one connection's rate wait; other connections do not")
    func rateLimit() throws {
        var limits = ControlLimits()
        limits.callBurst = 5
        limits.callsPerSecond = 1
        let begun = Instant.now()
        let station = try Station(limits: limits)
        let eager = try RawCaller(station)
        for _ in 0..<7 { eager.call("\(own).Launch", #"{"name":"web"}"#) }
        let other = try RawCaller(station)
        for _ in 0..<5 {
            other.call("\(service).GetInfo")
            #expect(try #require(try other.next()).contains("1.2.3"))
        }
        for _ in 0..<7 { #expect(try eager.next() == #"{"parameters":{"pid":4711}}"#) }
        // Two seconds between two calls, as on a busy machine, replace the two missing calls.
        #expect(station.server.statistics.throttled >= 1 || Instant.now() - begun >= .seconds(2))
        #expect(station.handler.calls.count == 7)
    }

    @Test("a user who may act can launch a thousand apps on one connection without waiting; others are limited")
    func rateOfOthers() throws {
        let limits = ControlLimits()
        let now = Instant(nanoseconds: 1)
        for (mayAct, admitted) in [(true, 1_000), (false, limits.callBurstOfOthers)] {
            let pipe = try OwnedDescriptor.pipe()
            let connection = ControlConnection(
                id: 1, peer: ControlPeer(pid: 1, user: 1, group: 1), mayAct: mayAct, descriptor: pipe.read,
                limits: limits, now: now)
            let count = (0..<1_000).count { _ in connection.bucket.admit(at: now) }
            #expect(count == admitted)
        }
    }

    @Test("calls from a caller that has left are carried out, and their replies are dropped")
    func goneCaller() throws {
        let station = try Station()
        var caller: RawCaller? = try RawCaller(station)
        caller?.call("\(own).Terminate", #"{"name":"web","wait":true}"#)
        caller?.call("\(own).Restart", #"{"name":"web"}"#)
        caller?.call("\(own).Launch", #"{"name":"web"}"#, #","oneway":true"#)
        try station.turn { station.handler.pendingTerminations.count == 1 }
        caller = nil
        try station.settle()
        #expect(station.server.statistics.open == 1)
        station.handler.pendingTerminations.removeFirst().succeed(TerminateReply(isGone: true))
        try station.turn { station.server.statistics.open == 0 }
        #expect(station.handler.calls == ["terminate web", "restart web by \(geteuid())", "launch web"])
    }

    @Test("a call whose caller has disconnected is carried out too")
    func goneAtOnce() throws {
        let station = try Station()
        var callers = try (0..<10).map { _ in try RawCaller(station) }
        for caller in callers {
            for _ in 0..<5 { caller.call("\(own).Launch", #"{"name":"web"}"#, #","oneway":true"#) }
        }
        callers.removeAll()
        try station.turn { station.server.statistics.accepted == 10 && station.server.statistics.open == 0 }
        #expect(station.handler.calls.count == 50)
    }

    @Test("a caller that closes its sending side still gets its replies")
    func halfClosed() throws {
        let station = try Station(FakeHandler((0..<300).map { "app-\($0)" }))
        let caller = try RawCaller(station)
        caller.call("\(own).List")
        caller.call("\(own).Launch", #"{"name":"app-1","wait":true}"#)
        caller.finish()
        #expect(try #require(try caller.next()).hasSuffix(#""invalid":[]}}"#))
        try station.turn { station.handler.pendingLaunches.count == 1 }
        station.handler.pendingLaunches.removeFirst().succeed(LaunchReply(pid: 1))
        #expect(try caller.next() == #"{"parameters":{"pid":1}}"#)
        try caller.expectEnd()
    }

    @Test("stopping answers the waiting callers, and closes every connection")
    func stop() throws {
        let station = try Station()
        let waiting = try RawCaller(station)
        waiting.call("\(own).Launch", #"{"name":"web","wait":true}"#)
        let monitoring = try RawCaller(station)
        monitoring.call("\(own).Monitor", "{}", #","more":true"#)
        _ = try monitoring.next()
        let idle = try RawCaller(station)
        try station.turn { station.handler.pendingLaunches.count == 1 && station.server.statistics.open == 3 }
        station.server.stop()
        let end = #"{"error":"org.watchdogd.Supervisor.ShuttingDown","parameters":{}}"#
        #expect(try waiting.next() == end)
        #expect(try monitoring.next() == end)
        try idle.expectEnd()
        #expect(station.server.statistics.open == 0)
        // Too late, and harmless.
        station.handler.pendingLaunches.removeFirst().succeed(LaunchReply(pid: 1))
        station.server.publish(ControlEvent(.ready, message: "late", time: .now()))
        station.server.stop()
    }

    @Test("a timer that kills is served before any caller, however many calls are pending")
    func deadlinesFirst() throws {
        let station = try Station(FakeHandler((0..<100).map { "app-\($0)" }))
        let callers = try (0..<32).map { _ in try RawCaller(station) }
        for caller in callers {
            for _ in 0..<4 { caller.call("\(own).List") }
        }
        try station.turn { station.server.statistics.open == 32 }
        // From here on each wake-up finds callers with work and the deadline, and must take the deadline.
        var served = 0
        var order: [Bool] = []
        var timer: WatchdogLinux.Timer?
        timer = try station.loop.timer(priority: .idle) { _ in
            order.append(true)
            served += 1
            if served < 200 { timer?.arm(at: station.loop.now) } else { timer = nil }
        }
        timer?.arm(at: station.loop.now)
        while timer != nil {
            _ = try station.loop.runOnce(limit: .seconds(1))
            if order.last != true { order.append(false) }
        }
        // The first wake-up may serve events that were due before the timer was armed.
        #expect(order.count { !$0 } <= 1)
        // Afterwards the callers get their replies.
        #expect(try #require(try callers[31].next()).hasSuffix("}}"))
    }

    @Test("a long reply does not delay other callers")
    func fairness() throws {
        let station = try Station(FakeHandler((0..<1000).map { "app-\($0)" }))
        let long = try RawCaller(station)
        long.call("\(own).List")
        try station.turn { station.server.statistics.calls == 1 }
        let short = try RawCaller(station)
        short.call("\(service).GetInfo")
        #expect(try #require(try short.next()).contains("1.2.3"))
        long.read()
        #expect(long.received.firstIndex(of: 0) == nil, "the list came whole before the second caller had its turn")
        #expect(try #require(try long.next()).hasSuffix("}}"))
    }

    @Test("without free descriptors nothing spins, and callers are served once there are some again")
    func descriptorExhaustion() throws {
        let station = try Station()
        // A limit would affect tests that run beside this one, so the test injects the kernel's error.
        let before = station.loop.iteration
        let failed = Instant.now()
        station.server.acceptFailed(Errno(rawValue: EMFILE))
        let caller = try RawCaller(station)
        caller.call("\(service).GetInfo")
        _ = try station.loop.runOnce(limit: .zero)
        _ = try station.loop.runOnce(limit: .zero)
        // It tries again after a quarter of a second, which may have passed on a busy machine.
        #expect(station.server.statistics.accepted == 0 || Instant.now() - failed >= .milliseconds(250))
        #expect(station.loop.iteration - before <= 4)
        #expect(station.notices.map(\.kind) == [.acceptFailed(Errno(rawValue: EMFILE))])
        #expect(try #require(try caller.next()).contains("1.2.3"))
    }

    @Test("at most ten notices are reported in a burst, and one more per second")
    func noticeLimit() throws {
        let station = try Station()
        let begun = Instant.now()
        for _ in 0..<30 {
            let caller = try RawCaller(station)
            caller.say("garbage")
            #expect(try #require(try caller.next()).contains("MalformedMessage"))
        }
        #expect(station.server.statistics.malformed == 30)
        let seconds = Int((Instant.now() - begun) / .seconds(1))
        #expect((10...min(30, 10 + seconds + 1)).contains(station.notices.count))
    }
}

extension Collection {
    func randomElement(using generator: inout SeededGenerator, or other: Element) -> Element {
        randomElement(using: &generator) ?? other
    }
}
