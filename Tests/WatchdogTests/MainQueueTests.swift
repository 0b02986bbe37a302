// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Testing
import WatchdogWire

@testable import Watchdog

@Suite("Answering from the main queue")
struct MainQueueTests {
    private let channel = Channel()

    private func start(
        on queue: DispatchQueue = .main,
        onEvent: @escaping @Sendable (Session.Incoming) -> Void = { _ in }
    ) throws -> (Session, MainQueueDriver) {
        let descriptor = try #require(Descriptor.channel(inherited: channel.app))
        let session = Session(Configuration(transport: .channel(descriptor)), at: .now())
        let driver = MainQueueDriver(session: session, queue: queue, onEvent: onEvent)
        driver.activate()
        #expect(channel.receive()?.hello != nil)
        return (session, driver)
    }

    @Test("a ping is answered")
    func ping() throws {
        let started = try start()
        withExtendedLifetime(started) {
            for nonce in 1...20 as ClosedRange<UInt64> {
                channel.send(SupervisorMessage(ping: nonce))
                #expect(channel.receive()?.pong == nonce)
            }
        }
    }

    @Test("pings are answered only once the main queue is no longer blocked")
    func blocked() throws {
        let started = try start()
        let (blocked, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        DispatchQueue.main.async {
            blocked.signal()
            release.wait()
        }
        blocked.wait()
        channel.send(SupervisorMessage(ping: 1))
        channel.send(SupervisorMessage(ping: 2))
        // Other queues run in the meantime, so the silence is the main queue's.
        let others = DispatchGroup()
        for _ in 0..<100 { DispatchQueue.global().async(group: others) {} }
        others.wait()
        #expect(channel.receive(within: .milliseconds(20)) == nil)
        release.signal()
        #expect(channel.receive()?.pong == 1)
        #expect(channel.receive()?.pong == 2)
        withExtendedLifetime(started) {}
    }

    @Test("a message from another thread is sent while the main queue is blocked")
    func statementWhileBlocked() throws {
        let queue = DispatchQueue(label: "stands in for main")
        let (session, driver) = try start(on: queue)
        let (blocked, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        queue.async {
            blocked.signal()
            release.wait()
        }
        blocked.wait()
        _ = session.send(at: .now()) { ($0.timeoutExtension, $0.progress) = (.seconds(1), "1") }
        #expect(channel.receive()?.progress == "1")
        release.signal()
        withExtendedLifetime(driver) {}
    }

    @Test("the queue sends delayed messages in time")
    func retry() throws {
        let (session, driver) = try start(on: DispatchQueue(label: "stands in for main"))
        for count in 1...30 where session.send(at: .now(), { $0.status = "\(count)" }) {
            driver.serviceSoon()
        }
        var last: String?
        while last != "30", let message = channel.receive() {
            last = message.status
        }
        #expect(last == "30")
    }

    @Test("events arrive on the queue, including the supervisor's exit")
    func events() throws {
        let queue = DispatchQueue(label: "stands in for main")
        let events = Locked<[Session.Incoming]>([])
        let told = DispatchSemaphore(value: 0)
        let started = try start(on: queue) { event in
            dispatchPrecondition(condition: .onQueue(queue))
            events.withLock { $0.append(event) }
            told.signal()
        }
        var terminate = SupervisorMessage()
        terminate.isTerminating = true
        channel.send(terminate)
        #expect(told.wait(timeout: .endOfPatience) == .success)
        channel.hangUp()
        #expect(told.wait(timeout: .endOfPatience) == .success)
        #expect(events.withLock { $0 } == [.terminate, .disconnected])
        #expect(!started.0.isSupervised)
    }

    @Test("the queue pushes signs of life repeatedly, and not while it is blocked")
    func push() throws {
        let socket = NotifySocket(NotifySocket.uniqueName("@"))
        let configuration = Configuration(
            channel: nil,
            notifySocket: socket.name,
            watchdogMicroseconds: "20000",
            watchdogProcess: nil
        )
        let queue = DispatchQueue(label: "stands in for main")
        let session = Session(configuration, at: .now())
        let driver = MainQueueDriver(session: session, queue: queue) { _ in }
        driver.activate()
        _ = session.send(at: .now()) { $0.isReady = true }
        var (isReady, signs) = (false, 0)
        while !isReady || signs < 5, let message = socket.receive() {
            isReady = isReady || message.isReady
            signs += message.watchdog == .alive ? 1 : 0
        }
        #expect(isReady)
        #expect(signs >= 5)

        let release = DispatchSemaphore(value: 0)
        let blocked = DispatchSemaphore(value: 0)
        queue.async {
            blocked.signal()
            release.wait()
        }
        blocked.wait()
        while socket.receive(within: .zero) != nil {}
        #expect(socket.receive(within: .milliseconds(50)) == nil)
        release.signal()
        #expect(socket.receive()?.watchdog == .alive)
        withExtendedLifetime(driver) {}
    }
}
