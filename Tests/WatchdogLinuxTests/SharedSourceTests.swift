// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Shared source")
struct SharedSourceTests {
    /// A pipe whose read end is served.
    private final class Pipe {
        let ends: (read: OwnedDescriptor, write: OwnedDescriptor)
        var received = 0

        init() throws { ends = try OwnedDescriptor.pipe() }

        func write(_ count: Int = 1) {
            for _ in 0..<count { #expect(Glibc.write(ends.write.number, "x", 1) == 1) }
        }

        func read() {
            var byte: UInt8 = 0
            if Glibc.read(ends.read.number, &byte, 1) == 1 { received += 1 }
        }
    }

    private func turn(_ loop: EventLoop, until condition: () -> Bool) throws {
        let end = Instant.now() + patience
        while !condition() {
            try #require(Instant.now() < end, "nothing happened in time")
            _ = try loop.runOnce(limit: .seconds(1))
        }
    }

    @Test("descriptors that become readable at long intervals are served immediately")
    func sparse() throws {
        let loop = try EventLoop()
        let source = try SharedSource(loop, interval: .nanoseconds(1))
        let pipe = try Pipe()
        let member = try source.add(pipe.ends.read) { pipe.read() }
        for count in 1...5 {
            pipe.write()
            #expect(try loop.runOnce(limit: .zero))
            #expect(pipe.received == count)
        }
        withExtendedLifetime(member) {}
    }

    @Test("a member that is always readable is held back by its pace, and others get their turn")
    func pace() throws {
        let loop = try EventLoop()
        let source = try SharedSource(loop, interval: .zero)
        let (flooded, quiet) = (try Pipe(), try Pipe())
        flooded.write()
        var served = 0
        // Never read.
        let members = [
            try source.add(flooded.ends.read, pace: TokenBucket(capacity: 10, perSecond: 0)) { served += 1 },
            try source.add(quiet.ends.read) { quiet.read() },
        ]
        try turn(loop) { served == 10 }
        quiet.write()
        try turn(loop) { quiet.received == 1 }
        #expect(try loop.runOnce(limit: .zero) == false)
        #expect(served == 10)
        withExtendedLifetime(members) {}
    }

    @Test("a member that was held back is served again when its interval ends, unless it is paused")
    func paceEnds() throws {
        let loop = try EventLoop()
        let source = try SharedSource(loop, interval: .zero)
        let pipe = try Pipe()
        pipe.write()
        var served = 0
        // A token every millisecond.
        let interval = Duration.milliseconds(2)
        let pace = TokenBucket(capacity: 2, perSecond: 1_000)
        let member = try source.add(pipe.ends.read, pace: pace) { served += 1 }
        let begun = Instant.now()
        try turn(loop) { served >= 2 }
        member.pause(true)
        member.pause(false)
        try turn(loop) { served > 9 }
        // Two calls at once, and one every millisecond.
        #expect(Instant.now() - begun >= .milliseconds(served - 2))
        member.pause(true)
        let before = served
        let end = Instant.now() + interval * 3
        while Instant.now() < end { _ = try loop.runOnce(limit: .milliseconds(1)) }
        #expect(served == before)
    }

    @Test("a member that begins paused is not called before it is told to continue")
    func beginsPaused() throws {
        let loop = try EventLoop()
        let source = try SharedSource(loop, interval: .zero)
        let pipe = try Pipe()
        pipe.write()
        let member = try source.add(pipe.ends.read, isPaused: true) { pipe.read() }
        member.pause(true)
        for _ in 0..<10 { _ = try loop.runOnce(limit: .zero) }
        #expect(pipe.received == 0)
        member.pause(false)
        #expect(try loop.runOnce(limit: .zero))
        #expect(pipe.received == 1)
    }

    @Test("many that are readable are served in a few turns of the loop")
    func crowd() throws {
        let loop = try EventLoop()
        let source = try SharedSource(loop, interval: .zero, turn: 32)
        let pipes = try (0..<100).map { _ in try Pipe() }
        let members = try pipes.map { pipe in try source.add(pipe.ends.read) { pipe.read() } }
        for pipe in pipes { pipe.write() }
        for _ in 0..<4 { #expect(try loop.runOnce(limit: .zero)) }
        #expect(pipes.allSatisfy { $0.received == 1 })
        withExtendedLifetime(members) {}
    }

    @Test(
        "descriptors that become readable in quick succession wait for the end of the interval",
        arguments: [true, false])
    func dense(isLong: Bool) throws {
        let loop = try EventLoop()
        let source = try SharedSource(loop, interval: isLong ? .seconds(3_600) : .milliseconds(20))
        let pipes = [try Pipe(), try Pipe()]
        let members = try pipes.map { pipe in try source.add(pipe.ends.read) { pipe.read() } }
        for count in 1...2 {
            pipes[0].write()
            try turn(loop) { pipes[0].received == count }
        }
        for pipe in pipes { pipe.write(3) }
        if isLong {
            for _ in 0..<10 { _ = try loop.runOnce(limit: .zero) }
            #expect(pipes.map(\.received) == [2, 0])
        } else {
            try turn(loop) { pipes.map(\.received) == [5, 3] }
            // An interval without events restores immediate service.
            try turn(loop) { (try? loop.runOnce(limit: .milliseconds(100))) == false }
            pipes[1].write()
            try turn(loop) { pipes[1].received == 4 }
        }
        withExtendedLifetime(members) {}
    }

    @Test("a descriptor that is never drained lets the others have their turn, and is served again in the next one")
    func flood() throws {
        let loop = try EventLoop()
        let source = try SharedSource(loop, interval: .nanoseconds(1))
        let (flooding, other) = (try Pipe(), try Pipe())
        var calls = 0
        let members = [
            try source.add(flooding.ends.read) { calls += 1 }, try source.add(other.ends.read) { other.read() },
        ]
        flooding.write()
        other.write()
        #expect(try loop.runOnce(limit: .zero))
        #expect(calls == 32)
        #expect(other.received == 1)
        try turn(loop) { calls == 64 }
        withExtendedLifetime(members) {}
    }

    @Test("a handler may cancel and release any member")
    func cancelling() throws {
        let loop = try EventLoop()
        let source = try SharedSource(loop, interval: .nanoseconds(1))
        let pipes = [try Pipe(), try Pipe()]
        var members: [SharedSource.Member] = []
        var calls = 0
        members = try pipes.map { pipe in
            try source.add(pipe.ends.read) {
                calls += 1
                members = []
            }
        }
        #expect(members.count == 2)
        for pipe in pipes { pipe.write() }
        try turn(loop) { calls > 0 }
        #expect(calls == 1)
        #expect(members.isEmpty)
        for _ in 0..<10 { _ = try loop.runOnce(limit: .zero) }
        #expect(calls == 1)
        let again = try source.add(pipes[0].ends.read) { pipes[0].read() }
        try turn(loop) { pipes[0].received == 1 }
        again.cancel()
        pipes[0].write()
        for _ in 0..<10 { _ = try loop.runOnce(limit: .zero) }
        #expect(pipes[0].received == 1)
    }

    @Test("a notify socket reports how long a message has waited")
    func age() throws {
        let directory = try RuntimeDirectory.create()
        defer { directory.remove() }
        let socket = try NotifySocket(in: directory, name: "notify")
        let sent = Instant.now()
        let sender = OwnedDescriptor(taking: wd_socket_connect_datagram(socket.address))
        #expect(wd_socket_send(sender.number, "WATCHDOG=1", 10) == 0)
        let written = Instant.now()
        while Instant.now() - written < .milliseconds(5) {}
        let message = try #require(try socket.receive())
        #expect(message.age >= .milliseconds(5))
        #expect(message.age <= Instant.now() - sent)
    }
}
