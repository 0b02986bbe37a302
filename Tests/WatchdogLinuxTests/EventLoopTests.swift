// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Event loop")
struct EventLoopTests {
    private func turn(_ loop: EventLoop, until condition: () -> Bool) throws {
        let end = Instant.now() + patience
        while !condition() {
            try #require(Instant.now() < end, "nothing happened in time")
            _ = try loop.runOnce(limit: .seconds(1))
        }
    }

    @Test("run returns the code of exit")
    func exitCode() throws {
        let loop = try EventLoop()
        let call = try loop.soon { loop.exit(code: 42) }
        #expect(try loop.run() == 42)
        call.cancel()
    }

    @Test("a readable descriptor is served until it is drained, then at its end")
    func readable() throws {
        let loop = try EventLoop()
        var ends = [try OwnedDescriptor.pipe()].flatMap { [$0.read, $0.write] }
        let reader = ends[0]
        var received: [UInt8] = []
        var ended = false
        let source = try loop.onReadable(reader) {
            var byte: UInt8 = 0
            if read(reader.number, &byte, 1) == 1 { received.append(byte) } else { ended = true }
        }
        #expect(write(ends[1].number, "abc", 3) == 3)
        try turn(loop) { received.count == 3 }
        ends.removeLast()
        try turn(loop) { ended }
        #expect(received == Array("abc".utf8))
        source.cancel()
        #expect(!source.isActive)
        #expect(try loop.runOnce(limit: .zero) == false)
    }

    @Test("a writable descriptor is served only on request")
    func writable() throws {
        let loop = try EventLoop()
        let pipe = try OwnedDescriptor.pipe()
        var count = 0
        let source = try loop.onReady(pipe.write, for: []) { readiness in
            #expect(readiness == .writable)
            count += 1
        }
        #expect(try loop.runOnce(limit: .zero) == false)
        try source.watch(for: .writable)
        try turn(loop) { count == 1 }
        try source.watch(for: [])
        #expect(try loop.runOnce(limit: .zero) == false)
        withExtendedLifetime(pipe) {}
    }

    @Test("in one wake-up, every readable descriptor is served before an idle timer, and exits come before everything")
    func order() throws {
        let loop = try EventLoop()
        let pipes = try (0..<3).map { _ in try OwnedDescriptor.pipe() }
        var order: [String] = []
        let timer = try loop.timer(priority: .idle) { firing in
            order.append("deadline")
            #expect(firing.lateness >= .milliseconds(3))
        }
        // Due long before the messages arrive.
        timer.arm(at: loop.now - .milliseconds(3))
        let sources = try pipes.enumerated().map { index, pipe in
            try loop.onReadable(pipe.read, priority: index == 2 ? .important : .normal) {
                var byte: UInt8 = 0
                read(pipe.read.number, &byte, 1)
                order.append("\(index)")
                // A sign of life that arrives while another one is being served.
                if index == 0 { write(pipes[1].write.number, [1], 1) }
            }
        }
        write(pipes[0].write.number, [1], 1)
        write(pipes[2].write.number, [1], 1)
        try turn(loop) { order.count == 4 }
        #expect(order == ["2", "0", "1", "deadline"])
        withExtendedLifetime((sources, pipes)) {}
    }

    @Test("a timer never fires early, reports its lateness, and fires once")
    func timer() throws {
        let loop = try EventLoop()
        var firings: [Timer.Firing] = []
        let timer = try loop.timer { firings.append($0) }
        #expect(timer.due == nil)
        for delay in [Duration.nanoseconds(1), .microseconds(700), .milliseconds(3)] {
            let due = loop.now + delay
            timer.arm(at: due)
            #expect(timer.due == due)
            let before = firings.count
            try turn(loop) { firings.count > before }
            let firing = try #require(firings.last)
            #expect(firing.due == due)
            #expect(firing.now >= due)
            #expect(firing.now >= firing.wokeAt)
            #expect(firing.oversleep <= firing.lateness)
            #expect(timer.due == nil)
        }
        #expect(try loop.runOnce(limit: .zero) == false)
    }

    @Test("a timer can be moved, disarmed, and rearmed by its own handler")
    func rearming() throws {
        let loop = try EventLoop()
        var count = 0
        var timer: Timer?
        timer = try loop.timer { _ in
            count += 1
            if count < 3 { timer?.arm(at: loop.now) } else { timer = nil }
        }
        timer?.arm(at: loop.now + .seconds(3600))
        timer?.arm(at: nil)
        #expect(try loop.runOnce(limit: .zero) == false)
        timer?.arm(at: loop.now)
        try turn(loop) { timer == nil }
        #expect(count == 3)
    }

    @Test("instants are rounded up to the next microsecond")
    func rounding() {
        #expect(Instant(nanoseconds: 1).microsecondsRoundedUp == 1)
        #expect(Instant(nanoseconds: 1000).microsecondsRoundedUp == 1)
        #expect(Instant(nanoseconds: 1001).microsecondsRoundedUp == 2)
        #expect(Instant(nanoseconds: -5).microsecondsRoundedUp == 0)
        #expect(Instant(nanoseconds: .max).microsecondsRoundedUp == UInt64(Int64.max) / 1000 + 1)
    }

    @Test("a signal arrives with its sender")
    func signals() throws {
        let loop = try EventLoop()
        var arrivals: [SignalSource.Arrival] = []
        let sources = try loop.onSignal([SIGUSR1, SIGWINCH]) { arrivals.append($0) }
        // To this thread, because the others of the test process do not block the signal.
        pthread_kill(pthread_self(), SIGUSR1)
        pthread_kill(pthread_self(), SIGWINCH)
        try turn(loop) { arrivals.count == 2 }
        #expect(Set(arrivals.map(\.signal)) == [SIGUSR1, SIGWINCH])
        #expect(arrivals.allSatisfy { $0.senderProcess == getpid() && $0.senderUser == getuid() })
        withExtendedLifetime(sources) {}
    }

    @Test("all messages of other threads arrive in order")
    func mailbox() throws {
        let loop = try EventLoop()
        let mailbox = try Mailbox<(thread: Int, number: Int)>()
        var received: [[Int]] = [[], [], [], []]
        let source = try loop.receive(from: mailbox) { received[$0.thread].append($0.number) }
        for thread in 0..<4 {
            startThread { for number in 0..<5000 { mailbox.post((thread, number)) } }
        }
        try turn(loop) { received.allSatisfy { $0.count == 5000 } }
        #expect(received.allSatisfy { $0 == Array(0..<5000) })
        withExtendedLifetime(source) {}
    }

    @Test("a mailbox that nobody drains loses nothing and keeps the order")
    func longMailbox() throws {
        let loop = try EventLoop()
        let mailbox = try Mailbox<Int>()
        let count = 100_000
        for number in 0..<count { mailbox.post(number) }
        var received: [Int] = []
        let source = try loop.receive(from: mailbox) { received.append($0) }
        try turn(loop) { received.count == count }
        mailbox.post(count)
        try turn(loop) { received.count > count }
        #expect(received == Array(0...count))
        withExtendedLifetime(source) {}
    }

    @Test("an after-events call runs once per wake-up with events")
    func afterEvents() throws {
        let loop = try EventLoop()
        var order: [String] = []
        let after = try loop.afterEvents { order.append("after") }
        let first = try loop.soon { order.append("first") }
        let second = try loop.soon { order.append("second") }
        try turn(loop) { order.count >= 3 }
        #expect(order.last == "after")
        #expect(order.contains("first") && order.contains("second"))
        withExtendedLifetime((after, first, second)) {}
    }

    @Test("a source without references is removed")
    func release() throws {
        let loop = try EventLoop()
        let pipe = try OwnedDescriptor.pipe()
        write(pipe.write.number, [1], 1)
        _ = try loop.onReadable(pipe.read) { Issue.record("served after its release") }
        #expect(try loop.runOnce(limit: .zero) == false)
        withExtendedLifetime(pipe) {}
    }

    @Test("watching a descriptor that cannot be watched is a clear error")
    func error() throws {
        let loop = try EventLoop()
        let file = try OwnedDescriptor(opening: "/proc/self/exe", flags: O_RDONLY)
        let error = try #require(throws: LinuxError.self) { _ = try loop.onReadable(file) {} }
        #expect("\(error)" == "cannot watch descriptor \(file.number): Operation not permitted (EPERM)")
    }
}
