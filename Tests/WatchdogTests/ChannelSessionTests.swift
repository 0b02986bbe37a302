// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Testing
import WatchdogWire

@testable import Watchdog

@Suite("A session over the channel")
struct ChannelSessionTests {
    private let channel = Channel()
    private let session: Session

    init() throws {
        let descriptor = try #require(Descriptor.channel(inherited: channel.app))
        session = Session(Configuration(transport: .channel(descriptor)), at: .t0)
    }

    private func message(_ build: (inout ClientMessage) -> Void) -> ClientMessage {
        var message = ClientMessage()
        build(&message)
        return message
    }

    @Test("begins with a greeting that names protocol, process and library")
    func greeting() throws {
        let hello = try #require(channel.receive()?.hello)
        #expect(hello.version == Wire.version)
        #expect(hello.process == getpid())
        #expect(hello.library?.hasPrefix("Watchdog/") == true)
        #expect(session.isSupervised)
    }

    @Test("answers pings only when it is serviced, each with its nonce and the thread")
    func pings() {
        _ = channel.receive()
        channel.send(SupervisorMessage(ping: 7))
        channel.send(SupervisorMessage(ping: .max))
        #expect(channel.drain().isEmpty)
        #expect(session.service(at: .t0).isEmpty)
        let answers = channel.drain()
        #expect(answers.map(\.pong) == [7, .max])
        #expect(answers.map(\.thread) == [CurrentThread.numberUnlessFirst, CurrentThread.numberUnlessFirst])
        #expect(session.service(at: .t0).isEmpty)
        #expect(channel.drain().isEmpty)
    }

    @Test("hangs on request only in a launch that allows faults, which the greeting states")
    func hang() throws {
        var message = SupervisorMessage(ping: 7)
        message.hang = .seconds(2)
        #expect(channel.receive()?.hello?.allowsFaults == false)
        channel.send(message)
        #expect(session.service(at: .t0).isEmpty)
        #expect(channel.drain().map(\.pong) == [7])

        let other = Channel()
        var configuration = Configuration(transport: .channel(try #require(Descriptor.channel(inherited: other.app))))
        configuration.allowsFaults = true
        let tested = Session(configuration, at: .t0)
        #expect(other.receive()?.hello?.allowsFaults == true)
        other.send(message)
        other.send(SupervisorMessage(ping: 8))
        #expect(tested.service(at: .t0) == [.hang(.seconds(2))])
        #expect(other.drain().map(\.pong) == [7], "what came before the hang is answered before it")
        #expect(tested.service(at: .t0).isEmpty)
        #expect(other.drain().map(\.pong) == [8], "and what came after it, after it")
    }

    @Test("sends a message immediately")
    func statements() {
        _ = channel.receive()
        #expect(!session.send(at: .t0) { $0.isReady = true })
        #expect(!session.send(at: .t0) { $0.status = "two\nlines" })
        #expect(!session.send(at: .t0) { ($0.timeoutExtension, $0.progress) = (.seconds(5), "half") })
        #expect(!session.send(at: .t0) { $0.summary = "summary" })
        #expect(!session.send(at: .t0) { $0.isStopping = true })
        let expected = [
            message { $0.isReady = true },
            message { $0.status = "two lines" },
            message { ($0.timeoutExtension, $0.progress) = (.seconds(5), "half") },
            message { $0.summary = "summary" },
            message { $0.isStopping = true },
        ]
        #expect(channel.drain() == expected)
    }

    @Test("forwards a termination request, and ignores unknown messages")
    func terminate() {
        _ = channel.receive()
        channel.send(Array("FUTURE=1\nPING=x\n".utf8))
        channel.send([UInt8](repeating: UInt8(ascii: "P"), count: 5000))
        channel.send(Array("PING=1\n\0PING=1".utf8))
        var message = SupervisorMessage(ping: 3)
        message.isTerminating = true
        channel.send(message)
        #expect(session.service(at: .t0) == [.terminate])
        #expect(channel.drain().map(\.pong) == [3])
    }

    @Test("answers a flood of pings in portions that leave the loop to the app")
    func flood() {
        _ = channel.receive()
        var sent: UInt64 = 0
        while sent < 200, channel.send(SupervisorMessage(ping: sent)) { sent += 1 }
        #expect(sent > 100)
        var answered: [UInt64?] = []
        while answered.count < sent {
            _ = session.service(at: .t0)
            let portion = channel.drain()
            #expect((1...64).contains(portion.count))
            guard !portion.isEmpty else { break }
            answered += portion.map(\.pong)
        }
        #expect(answered == (0..<sent).map { $0 })
    }

    @Test("keeps the latest message of each kind if the queue is full, and sends it when there is room")
    func backlog() {
        while session.deadline == nil {
            _ = session.send(at: .t0) { ($0.isReady, $0.status) = (true, "early") }
        }
        channel.send(SupervisorMessage(ping: 1))
        channel.send(SupervisorMessage(ping: 2))
        _ = session.service(at: .t0)
        #expect(!session.send(at: .t0) { $0.status = "late" })
        _ = channel.drain()

        _ = session.service(at: .t0)
        #expect(channel.drain().isEmpty, "not before the time to try again")
        #expect(session.deadline == .t0 + .milliseconds(100))
        _ = session.service(at: .t0 + .milliseconds(100))
        let rest = message {
            ($0.isReady, $0.status, $0.pong) = (true, "late", 2)
            $0.thread = CurrentThread.numberUnlessFirst
        }
        #expect(channel.drain() == [rest])
        #expect(session.deadline == nil)
    }

    @Test("limits the rate of a talkative app, but not its answers and its last message")
    func chatter() {
        _ = channel.receive()
        var newDeadlines = 0
        for count in 1...1000 where session.send(at: .t0, { $0.status = "status \(count)" }) {
            newDeadlines += 1
        }
        #expect(newDeadlines == 1)
        let statuses = channel.drain().compactMap(\.status)
        #expect(statuses == (1...20).map { "status \($0)" })

        channel.send(SupervisorMessage(ping: 5))
        _ = session.service(at: .t0)
        let answer = channel.drain()
        #expect(answer.map(\.pong) == [5])
        #expect(answer.map(\.status) == ["status 1000"])
        #expect(session.deadline == nil)
    }

    @Test("sends delayed messages when they are due")
    func chatterLater() {
        _ = channel.receive()
        for count in 1...30 { _ = session.send(at: .t0) { $0.status = "status \(count)" } }
        #expect(channel.drain().count == 20)
        _ = session.service(at: .t0 + .milliseconds(100))
        #expect(channel.drain().map(\.status) == ["status 30"])
    }

    @Test("stops sending when the supervisor is gone, and reports that once")
    func gone() {
        channel.hangUp()
        #expect(session.service(at: .t0) == [.disconnected])
        #expect(session.service(at: .t0).isEmpty)
        expectSilence()
    }

    @Test("detects while sending that the supervisor is gone, without SIGPIPE")
    func goneWhileSending() {
        channel.send(SupervisorMessage(ping: 1))
        channel.hangUp()
        #expect(!session.send(at: .t0) { $0.isReady = true })
        expectSilence()
        #expect(session.service(at: .t0) == [.disconnected])
    }

    private func expectSilence() {
        #expect(!session.isSupervised)
        #expect(session.descriptor == nil)
        for _ in 0..<100 {
            #expect(!session.send(at: .t0) { ($0.isReady, $0.status) = (true, "anyone?") })
        }
        #expect(session.deadline == nil)
    }
}
