// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

@testable import WatchdogControl

@Suite("Calls on one connection")
struct PipelineTests {
    private static let names = (0..<10).map { "app-\($0)" }

    private func launch(_ caller: RawCaller, _ index: Int) {
        caller.call("\(own).Launch", #"{"name":"app-\#(index)","wait":true}"#)
    }

    private func answer(_ pid: Int) -> String { #"{"parameters":{"pid":\#(pid)}}"# }

    @Test("a waiting call does not delay later ones, and the replies have the order of the calls")
    func order() throws {
        let station = try Station(FakeHandler(Self.names))
        let caller = try RawCaller(station)
        for index in 0..<3 { launch(caller, index) }
        caller.call("\(own).Launch", #"{"name":"app-3"}"#)
        caller.call("\(own).Launch", #"{"name":"none"}"#)
        caller.call("\(service).GetInfo")
        try station.turn { station.handler.calls.count == 5 }
        #expect(station.handler.calls == (0..<4).map { "launch app-\($0)" } + ["launch none"])
        try station.settle()
        for index in [2, 1] {
            station.handler.pendingLaunches[index].succeed(LaunchReply(pid: Int32(index)))
            try station.settle()
            caller.read()
            #expect(caller.received == [])
        }
        station.handler.pendingLaunches[0].succeed(LaunchReply(pid: 0))
        for pid in 0..<3 { #expect(try caller.next() == answer(pid)) }
        #expect(try caller.next() == answer(4711))
        #expect(try #require(try caller.next()).contains("NoSuchApp"))
        #expect(try #require(try caller.next()).contains("1.2.3"))
        #expect(station.server.statistics.calls == 6)
    }

    @Test("the limit allows exactly that many calls in progress", arguments: [2, 3])
    func limit(limit: Int) throws {
        var limits = ControlLimits()
        limits.callsInProgress = limit
        let station = try Station(FakeHandler(Self.names), limits: limits)
        let caller = try RawCaller(station)
        for index in 0..<3 { launch(caller, index) }
        try station.turn { station.handler.calls.count == limit }
        try station.settle()
        #expect(station.handler.calls.count == limit)
        // A reply that cannot be sent yet counts.
        station.handler.pendingLaunches[1].succeed(LaunchReply(pid: 1))
        try station.settle()
        #expect(station.handler.calls.count == limit)
        station.handler.pendingLaunches[0].succeed(LaunchReply(pid: 0))
        try station.turn { station.handler.calls.count == 3 }
        station.handler.pendingLaunches[2].succeed(LaunchReply(pid: 2))
        for pid in 0..<3 { #expect(try caller.next() == answer(pid)) }
    }

    @Test("a caller who may not act has a lower limit")
    func limitOfOthers() throws {
        let limits = ControlLimits()
        for (mayAct, most) in [(true, limits.callsInProgress), (false, limits.callsInProgressOfOthers)] {
            let pipe = try OwnedDescriptor.pipe()
            let connection = ControlConnection(
                id: 1, peer: ControlPeer(pid: 1, user: 1, group: 1), mayAct: mayAct, descriptor: pipe.read,
                limits: limits, now: Instant(nanoseconds: 1))
            for _ in 1..<most { connection.calls.add(.awaited) }
            #expect(connection.hasRoom)
            connection.calls.add(.awaited)
            #expect(!connection.hasRoom)
        }
        #expect(limits.callsInProgressOfOthers < limits.callsInProgress)
    }

    @Test("a caller that leaves loses only its own replies, and all its calls are carried out")
    func gone() throws {
        var limits = ControlLimits()
        limits.callsInProgress = 3
        let station = try Station(FakeHandler(Self.names), limits: limits)
        let other = try RawCaller(station)
        launch(other, 0)
        try station.turn { station.handler.pendingLaunches.count == 1 }
        var caller: RawCaller? = try RawCaller(station)
        if let caller { for index in 1...5 { launch(caller, index) } }
        try station.turn { station.handler.pendingLaunches.count == 4 }
        caller = nil
        try station.settle()
        #expect(station.handler.pendingLaunches.count == 4)
        #expect(station.server.statistics.open == 2)
        // In any order, because nobody gets the replies any more.
        for index in [2, 3] { station.handler.pendingLaunches[index].succeed(LaunchReply(pid: 1)) }
        try station.turn { station.handler.pendingLaunches.count == 6 }
        for index in [1, 4, 5] { station.handler.pendingLaunches[index].succeed(LaunchReply(pid: 1)) }
        try station.turn { station.server.statistics.open == 1 }
        #expect(station.handler.calls == (0...5).map { "launch app-\($0)" })
        other.read()
        #expect(other.received == [])
        station.handler.pendingLaunches[0].succeed(LaunchReply(pid: 7))
        #expect(try other.next() == answer(7))
    }

    @Test("calls after a monitoring one are carried out; their replies come when it ends, or never")
    func monitor() throws {
        let station = try Station(FakeHandler(Self.names))
        station.server.publish(ControlEvent(.ready, app: "app-1", message: "now", time: .now()))
        let opening = String(decoding: station.server.encode(MonitorReply()).dropLast(), as: UTF8.self)
        let past = try RawCaller(station)
        past.call("\(own).Monitor", #"{"history":1,"follow":false}"#, #","more":true"#)
        past.call("\(own).Launch", #"{"name":"app-1"}"#)
        #expect(try past.next() == opening)
        #expect(try #require(try past.next()).contains("now"))
        #expect(try past.next() == #"{"parameters":{}}"#)
        #expect(try past.next() == answer(4711))

        let present = try RawCaller(station)
        launch(present, 2)
        present.call("\(own).Monitor", #"{"history":1}"#, #","more":true"#)
        present.call("\(own).Launch", #"{"name":"app-3"}"#)
        try station.turn { station.handler.calls.last == "launch app-3" }
        station.server.publish(ControlEvent(.ready, app: "app-2", message: "later", time: .now()))
        try station.settle()
        present.read()
        #expect(present.received == [])
        station.handler.pendingLaunches[0].succeed(LaunchReply(pid: 2))
        #expect(try present.next() == answer(2))
        #expect(try present.next() == opening)
        for word in ["now", "later"] { #expect(try #require(try present.next()).contains(word)) }
        try station.settle()
        present.read()
        #expect(present.received == [])
    }

    @Test("input that is not a call is rejected after the replies to earlier calls, and later input is not read")
    func malformed() throws {
        let station = try Station(FakeHandler(Self.names))
        let caller = try RawCaller(station)
        launch(caller, 0)
        caller.say("garbage")
        launch(caller, 1)
        try station.turn { station.server.statistics.malformed == 1 }
        try station.settle()
        caller.read()
        #expect(caller.received == [] && !caller.isEnded)
        station.handler.pendingLaunches[0].succeed(LaunchReply(pid: 3))
        #expect(try caller.next() == answer(3))
        #expect(try #require(try caller.next()).contains("MalformedMessage"))
        try caller.expectEnd()
        #expect(station.handler.calls == ["launch app-0"])
    }

    @Test("stopping sends the finished replies in order, and an error for each waiting call")
    func stop() throws {
        let station = try Station(FakeHandler(Self.names))
        let caller = try RawCaller(station)
        for index in 0..<3 { launch(caller, index) }
        try station.turn { station.handler.pendingLaunches.count == 3 }
        station.handler.pendingLaunches[1].succeed(LaunchReply(pid: 1))
        station.server.stop()
        let end = #"{"error":"org.watchdogd.Supervisor.ShuttingDown","parameters":{}}"#
        for expected in [end, answer(1), end] { #expect(try caller.next() == expected) }
        try caller.expectEnd()
    }
}
