// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase

/// Decides when the bytes of several streams arrive at the other end of one direction of a link.
///
/// It counts bytes without holding them. Streams take turns, one segment each. As in TCP, a lost segment delays its
/// stream: it is repeated after a timeout, which doubles with each consecutive loss, and the rest of the stream waits.
package struct LinkShaper: Sendable {
    /// Bytes, or the end of a stream, that arrive at the far end.
    package struct Delivery: Hashable, Sendable {
        package var stream: Int
        package var bytes: Int
        /// Whether this is the end of the stream.
        package var isEnd: Bool
    }

    /// The payload of a segment on Ethernet: 1500 bytes minus the headers of IPv4 and TCP with timestamps.
    package static let segment = 1448
    /// The maximum number of doublings of the retransmission timeout.
    private static let longestBackoff = 4

    private struct Segment {
        var arrival: Instant
        var bytes: Int
        var isEnd: Bool
    }

    private struct Stream {
        var waiting = 0
        var isEnding = false
        /// The earliest time to send.
        var resumption: Instant
        var losses = 0
        var travelling: [Segment] = []
        var first = 0
        /// The turn in which the stream last sent.
        var turn: UInt64 = 0

        var hasWork: Bool { waiting > 0 || isEnding }
        var nextArrival: Instant? { first < travelling.count ? travelling[first].arrival : nil }
    }

    private let direction: LinkProfile.Direction
    private let retransmission: Duration
    private var bucket: TokenBucket?
    private var streams: [Int: Stream] = [:]
    private var now: Instant
    private var turn: UInt64 = 0
    private var random: SplitMix64

    /// - Parameters:
    ///   - retransmission: the timeout after a loss.
    ///   - seed: decides which segments are lost.
    package init(_ direction: LinkProfile.Direction, retransmission: Duration, seed: UInt64, at now: Instant) {
        self.direction = direction
        self.retransmission = max(retransmission, .milliseconds(1))
        self.now = now
        random = SplitMix64(state: seed)
        bucket = direction.bytesPerSecond.map { rate in
            // The event loop wakes up some milliseconds late; a smaller bucket would be full before that, and the rate
            // would not be reached.
            TokenBucket(capacity: max(2 * Self.segment, rate / 200), perSecond: max(1, rate))
        }
    }

    /// Adds a stream that sends nothing before `start`, such as while its connection is established.
    package mutating func add(_ stream: Int, sendingFrom start: Instant) {
        streams[stream] = Stream(resumption: start)
    }

    package mutating func remove(_ stream: Int) {
        streams[stream] = nil
    }

    /// Enqueues bytes to send.
    ///
    /// - Parameters:
    ///   - isEnd: Whether this is the end of the stream.
    ///   - instant: No earlier than that of the last ``advance(to:)``.
    package mutating func enqueue(_ bytes: Int, isEnd: Bool = false, on stream: Int, at instant: Instant) {
        guard var state = streams[stream], !state.isEnding else { return }
        send(until: instant)
        state = streams[stream] ?? state
        state.waiting += max(0, bytes)
        state.isEnding = isEnd
        streams[stream] = state
    }

    /// Returns the deliveries up to `instant`, in order within each stream.
    package mutating func advance(to instant: Instant) -> [Delivery] {
        send(until: instant)
        var deliveries: [Delivery] = []
        for (id, state) in streams {
            guard let arrival = state.nextArrival, arrival <= instant else { continue }
            var state = state
            var delivery = Delivery(stream: id, bytes: 0, isEnd: false)
            while let arrival = state.nextArrival, arrival <= instant {
                delivery.bytes += state.travelling[state.first].bytes
                delivery.isEnd = state.travelling[state.first].isEnd
                state.first += 1
            }
            if state.first == state.travelling.count || state.first > 256 {
                state.travelling.removeFirst(state.first)
                state.first = 0
            }
            streams[id] = state
            deliveries.append(delivery)
        }
        return deliveries
    }

    /// The time of the next transmission or arrival; nil if the link is idle.
    package var nextEvent: Instant? {
        let arrival = streams.values.compactMap(\.nextArrival).min()
        guard let sending = nextToSend()?.instant else { return arrival }
        return arrival.map { min($0, sending) } ?? sending
    }

    // MARK: - Sending

    private mutating func send(until instant: Instant) {
        while let (id, sending) = nextToSend(), sending <= instant, var state = streams[id] {
            let bytes = min(Self.segment, state.waiting)
            let isEnd = state.isEnding && bytes == state.waiting
            bucket?.take(bytes, at: sending)
            turn += 1
            state.turn = turn
            if direction.loss > 0, random.fraction() < direction.loss {
                state.resumption = sending + retransmission * (1 << min(state.losses, Self.longestBackoff))
                state.losses += 1
            } else {
                state.losses = 0
                state.waiting -= bytes
                if isEnd { state.isEnding = false }
                state.travelling.append(
                    Segment(arrival: sending + direction.delay, bytes: bytes, isEnd: isEnd))
            }
            streams[id] = state
            now = max(now, sending)
        }
        now = max(now, instant)
    }

    /// Of the streams that can send first, the one that has waited for the most turns.
    private func nextToSend() -> (id: Int, instant: Instant)? {
        guard !direction.isDead else { return nil }
        var best: (id: Int, instant: Instant, turn: UInt64)?
        for (id, state) in streams where state.hasWork {
            let earliest = bucket?.earliest(for: min(Self.segment, state.waiting)) ?? now
            let instant = max(now, state.resumption, earliest)
            if let best, (best.instant, best.turn, best.id) <= (instant, state.turn, id) { continue }
            best = (id, instant, state.turn)
        }
        return best.map { ($0.id, $0.instant) }
    }
}

/// Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014.
///
/// The same seed loses the same segments.
private struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A uniform value in [0, 1).
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}
