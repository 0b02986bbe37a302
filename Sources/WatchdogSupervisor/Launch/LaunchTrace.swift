// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy
import WatchdogWire

/// What an app marked in its launch: intervals, moments, the first frame.
///
/// Times are the app's word. Bounded: what comes after the limits is counted, not kept.
struct LaunchTrace: Hashable, Sendable {
    /// Something that took time, or a moment.
    struct Interval: Hashable, Sendable {
        let name: String
        let category: String
        let id: UInt64
        let start: Instant
        /// Nil while it has not ended.
        var end: Instant?
        let isOnMainThread: Bool
        /// A moment has no length.
        let isEvent: Bool
    }

    static let limit = 512

    private(set) var intervals: [Interval] = []
    /// When the app said that it showed itself.
    private(set) var firstFrame: Instant?
    /// Marks that were not kept, or that the app could not send.
    private(set) var lost = 0

    mutating func note(_ message: ClientMessage, at now: Instant) {
        if message.isFirstFrame, firstFrame == nil { firstFrame = now }
        lost += min(message.signpostsLost ?? 0, 1 << 32)
        for signpost in message.signposts { note(signpost) }
    }

    private mutating func note(_ signpost: ClientMessage.Signpost) {
        let at = Instant(nanoseconds: signpost.nanoseconds)
        if signpost.phase == .end {
            let open = intervals.lastIndex {
                $0.end == nil && !$0.isEvent && $0.id == signpost.id && $0.name == signpost.name
                    && $0.category == signpost.category
            }
            if let open { intervals[open].end = max(intervals[open].start, at) } else { lost += 1 }
            return
        }
        guard intervals.count < Self.limit else {
            lost += 1
            return
        }
        intervals.append(
            Interval(
                name: signpost.name.printable(limit: 64), category: signpost.category.printable(limit: 64),
                id: signpost.id, start: at, end: nil, isOnMainThread: signpost.isOnMainThread,
                isEvent: signpost.phase == .event))
    }
}
