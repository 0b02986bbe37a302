// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The timing of pings, and the nonces that may still be answered.
struct PingWatch: Hashable, Sendable {
    /// More than a few pings are outstanding only if the machine is suspended repeatedly.
    static let nonceLimit = 8

    private(set) var nonceState: UInt64
    private(set) var unanswered: [UInt64] = []
    private(set) var lastSent: Instant?
    /// When the next ping is due; nil while one is in flight or none is wanted.
    private(set) var next: Instant?
    /// Whether the app answers pings.
    private(set) var isAnswered = false

    init(nonceSeed: UInt64) {
        nonceState = nonceSeed
    }

    /// Returns false if that was known already.
    mutating func begin() -> Bool {
        defer { isAnswered = true }
        return !isAnswered
    }

    /// Drops all pings, because the channel is lost.
    mutating func end() {
        isAnswered = false
        unanswered = []
    }

    mutating func cancelNext() { next = nil }

    mutating func scheduleNext(_ turn: Turn) {
        let interval = turn.spec.pingInterval
        next = max(turn.now, Self.onTick((lastSent ?? turn.now) + interval, interval))
    }

    mutating func send(_ turn: inout Turn) {
        if unanswered.count == Self.nonceLimit { unanswered.removeFirst() }
        let nonce = makeNonce()
        unanswered.append(nonce)
        lastSent = turn.now
        turn.perform(.sendPing(nonce: nonce))
    }

    /// Accepts an answer to the last ping or an earlier one, because the last may have been lost.
    ///
    /// Returns false for any other.
    mutating func answered(_ nonce: UInt64) -> Bool {
        guard let index = unanswered.firstIndex(of: nonce) else { return false }
        unanswered.removeSubrange(...index)
        return true
    }

    /// SplitMix64: no thread of the app can answer a ping that it has not read.
    private mutating func makeNonce() -> UInt64 {
        nonceState &+= 0x9e37_79b9_7f4a_7c15
        var mixed = nonceState
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// The nearest of the common instants at which all apps are pinged and sampled.
    ///
    /// One wake-up then serves many apps while everything they need is in the caches. Only for what need not be exact;
    /// deadlines that kill are never moved to a tick.
    static func onTick(_ instant: Instant, _ interval: Duration) -> Instant {
        let tick = max(1, min(interval.nanoseconds / 100, 10_000_000))
        let (nearest, overflow) = instant.nanoseconds.addingReportingOverflow(tick / 2)
        return overflow ? instant : Instant(nanoseconds: nearest - nearest % tick)
    }

    // MARK: - The pulse

    var withoutPulse: PingWatch {
        var copy = PingWatch(nonceSeed: 0)
        copy.isAnswered = isAnswered
        return copy
    }

    mutating func restore(_ pulse: ProcessMachine.Pulse) {
        nonceState = pulse.nonceState
        unanswered = pulse.unanswered.suffix(Self.nonceLimit)
        lastSent = pulse.lastPingSent
        next = pulse.nextPing
    }
}

extension PingWatch {
    init(_ saved: SavedPings) {
        nonceState = saved.nonceState
        unanswered = saved.unanswered.suffix(Self.nonceLimit)
        lastSent = saved.lastSent
        next = saved.next
        isAnswered = saved.isAnswered
    }

    var saved: SavedPings {
        SavedPings(
            nonceState: nonceState, unanswered: unanswered, lastSent: lastSent, next: next, isAnswered: isAnswered)
    }
}
