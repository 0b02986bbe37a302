// SPDX-License-Identifier: Apache-2.0

import NetworkConditioner
import Testing
import WatchdogBase

@Suite("Link shaper")
struct LinkShaperTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)

    /// Drives a shaper from event to event, like its loop.
    private struct Line {
        var shaper: LinkShaper
        var now = LinkShaperTests.start
        var arrived: [Int: Int] = [:]
        var ended: Set<Int> = []

        init(_ direction: LinkProfile.Direction, retransmission: Duration = .milliseconds(200), streams: Int = 1) {
            shaper = LinkShaper(direction, retransmission: retransmission, seed: 42, at: now)
            for stream in 0..<streams { shaper.add(stream, sendingFrom: now) }
        }

        mutating func send(_ bytes: Int, on stream: Int = 0, isEnd: Bool = false) {
            shaper.enqueue(bytes, isEnd: isEnd, on: stream, at: now)
        }

        /// Runs all events up to `duration` after the start.
        mutating func run(to duration: Duration) {
            let end = LinkShaperTests.start + duration
            while let next = shaper.nextEvent, next <= end { advance(to: max(next, now)) }
            advance(to: end)
        }

        private mutating func advance(to instant: Instant) {
            now = instant
            for delivery in shaper.advance(to: instant) {
                arrived[delivery.stream, default: 0] += delivery.bytes
                if delivery.isEnd { ended.insert(delivery.stream) }
            }
        }
    }

    @Test("Bytes arrive after the delay and not a nanosecond earlier")
    func delay() {
        var line = Line(.init(delay: .milliseconds(100)))
        line.send(1000)
        line.run(to: .milliseconds(100) - .nanoseconds(1))
        #expect(line.arrived == [:])
        line.run(to: .milliseconds(100))
        #expect(line.arrived == [0: 1000])
        #expect(line.shaper.nextEvent == nil)
    }

    @Test("The throughput matches the bandwidth, except for one burst", arguments: [1_000, 97_500, 5_000_000])
    func bandwidth(rate: Int) {
        var line = Line(.init(bytesPerSecond: rate))
        line.send(rate * 100)
        let burst = max(2 * LinkShaper.segment, rate / 200)
        for second in [1, 10, 50] {
            line.run(to: .seconds(second))
            let expected = rate * second
            #expect((expected - LinkShaper.segment...expected + burst).contains(line.arrived[0] ?? 0))
        }
    }

    @Test("A pause saves up at most one burst")
    func burst() {
        var line = Line(.init(bytesPerSecond: 10_000))
        line.run(to: .seconds(3600))
        line.send(100_000)
        line.run(to: .seconds(3600) + .nanoseconds(1))
        #expect(line.arrived == [0: 2 * LinkShaper.segment])
    }

    @Test("The rate is reached although the loop wakes up late")
    func lateLoop() {
        var shaper = LinkShaper(.init(bytesPerSecond: 1_000_000), retransmission: .seconds(1), seed: 1, at: Self.start)
        shaper.add(0, sendingFrom: Self.start)
        shaper.enqueue(10_000_000, on: 0, at: Self.start)
        var arrived = 0
        for tick in 1...1000 {
            arrived += shaper.advance(to: Self.start + .milliseconds(tick)).map(\.bytes).reduce(0, +)
        }
        #expect((998_000...1_006_000).contains(arrived))
    }

    @Test("Streams share the bandwidth evenly, however much one of them wants")
    func sharing() throws {
        var line = Line(.init(bytesPerSecond: 100_000), streams: 4)
        line.send(10_000_000, on: 0)
        for stream in 1..<4 { line.send(200_000, on: stream) }
        line.run(to: .seconds(4))
        for stream in 0..<4 {
            let share = try #require(line.arrived[stream])
            #expect((97_000...104_000).contains(share), "stream \(stream)")
        }
        // Finished streams leave the rest to the first.
        line.run(to: .seconds(10))
        #expect((390_000...410_000).contains(line.arrived[0] ?? 0))
        #expect(line.arrived[3] == 200_000)
    }

    @Test("The end arrives after the last byte, or alone")
    func end() {
        var line = Line(.init(bytesPerSecond: 1_448, delay: .milliseconds(10)), streams: 2)
        line.send(5 * 1_448, on: 0, isEnd: true)
        line.send(0, on: 1, isEnd: true)
        line.send(99, on: 1)
        line.run(to: .milliseconds(10))
        #expect(line.ended == [1])
        #expect(line.arrived[1] == 0, "nothing follows an end")
        line.run(to: .milliseconds(3_009))
        #expect(!line.ended.contains(0))
        line.run(to: .milliseconds(3_010))
        #expect(line.ended.contains(0))
        #expect(line.arrived[0] == 5 * 1_448)
    }

    @Test("Each loss is a pause that delays later bytes, and nothing is missing in the end")
    func loss() {
        var line = Line(.init(loss: 0.1), retransmission: .seconds(1))
        line.send(1_448 * 1000, isEnd: true)
        line.run(to: .zero)
        #expect(line.arrived[0] ?? 0 < 1_448 * 1000)
        line.run(to: .seconds(60))
        let early = line.arrived[0] ?? 0
        line.run(to: .seconds(3600))
        #expect(line.arrived[0] == 1_448 * 1000)
        #expect(line.ended == [0])
        // Of 1100 segments about 110 are lost: it takes about two minutes.
        #expect((1_448 * 200...1_448 * 900).contains(early))
    }

    @Test("Consecutive losses pause for longer and longer")
    func backoff() {
        var (line, pauses) = (Line(.init(loss: 0.9), retransmission: .seconds(1)), Set<Duration>())
        line.send(1_448 * 50)
        var last = line.now
        while let next = line.shaper.nextEvent, pauses.count < 5 {
            line.run(to: next - Self.start)
            if next > last { pauses.insert(next - last) }
            last = next
        }
        #expect(pauses == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)])
    }

    @Test("On a link that loses everything nothing arrives, and no wake-up is scheduled")
    func dead() {
        var line = Line(.init(loss: 1))
        line.send(100, isEnd: true)
        #expect(line.shaper.nextEvent == nil)
        line.run(to: .seconds(86_400))
        #expect(line.arrived == [:])
        #expect(line.ended == [])
    }

    @Test("A stream sends nothing before it is connected")
    func connecting() {
        var line = Line(.init(), streams: 0)
        line.shaper.add(7, sendingFrom: line.now + .milliseconds(200))
        line.send(10, on: 7)
        line.run(to: .milliseconds(199))
        #expect(line.arrived == [:])
        line.run(to: .milliseconds(200))
        #expect(line.arrived == [7: 10])
    }

    @Test("A removed stream loses its bytes in transit")
    func removal() {
        var line = Line(.init(delay: .seconds(1)))
        line.send(10)
        line.shaper.remove(0)
        line.send(10)
        #expect(line.shaper.nextEvent == nil)
        line.run(to: .seconds(5))
        #expect(line.arrived == [:])
    }
}
