// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogWire

/// Decides whether an app's notify messages may wait for those of other apps.
///
/// They may if all there is to expect of the app are signs of life: nothing else is expected, and nothing else has come
/// lately. Otherwise somebody may wait for the next message. A flood may wait, whatever is in it.
struct MessagePatience {
    /// Messages may wait if nothing but signs of life and texts for people has come, or was expected, for this long.
    static let quiet = Duration.seconds(5)
    /// More messages in a burst are a flood.
    static let burst = 100
    /// The number of messages per second that do not become a flood.
    static let perSecond = 50
    /// After the beginning of a flood, messages may wait for this long.
    static let flood = Duration.seconds(1)

    /// Until when whatever comes may wait.
    private var floodEnd: Instant?
    /// When something else than routine came or was expected; nil before the first decision.
    private var lastWord: Instant?
    private var isExpecting = true
    private var bucket = TokenBucket(capacity: burst, perSecond: perSecond)

    /// Notes a message that was read.
    ///
    /// - Parameter isRoutine: whether nobody waits for what it says.
    mutating func read(isRoutine: Bool, at now: Instant) {
        if !isRoutine { lastWord = now }
        if !isFlooded(at: now), !bucket.admit(at: now) { floodEnd = now + Self.flood }
    }

    /// Notes whether more than signs of life is expected.
    mutating func expect(_ isExpecting: Bool, at now: Instant) {
        if isExpecting || self.isExpecting { lastWord = now }
        self.isExpecting = isExpecting
    }

    /// Whether the next message may wait.
    func canWait(at now: Instant) -> Bool {
        if isFlooded(at: now) { return true }
        guard !isExpecting, let lastWord else { return false }
        return now - lastWord >= Self.quiet
    }

    private func isFlooded(at now: Instant) -> Bool { floodEnd.map { now < $0 } ?? false }
}

extension NotifyMessage {
    /// What almost every message of an app that runs says.
    private static let alive = Array("WATCHDOG=1".utf8)

    /// Whether nobody waits for what a message says, as ``isRoutine``.
    static func isRoutine(_ bytes: [UInt8]) -> Bool { bytes == alive || NotifyMessage(decoding: bytes).isRoutine }

    /// Whether nobody waits for what the message says: it has at most a sign of life and a text for people.
    var isRoutine: Bool {
        var rest = self
        if watchdog == .alive { rest.watchdog = nil }
        (rest.status, rest.malformed, rest.unknown) = (nil, 0, 0)
        return rest == NotifyMessage()
    }
}
