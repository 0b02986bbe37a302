// SPDX-License-Identifier: Apache-2.0

/// The latest events, for everybody who reads them at their own pace; each is encoded at most once.
struct EventRing {
    /// Where somebody who reads has come to.
    struct Cursor {
        /// The sequence of the event that is read next.
        fileprivate(set) var next: Int
        /// Whose events are wanted, besides those that concern all; nil for every app's.
        let apps: Set<String>?
    }

    /// What comes next.
    enum Step {
        /// So many events were gone before they were read.
        case missed(Int)
        /// The reply that tells of the event, with its NUL.
        case reply([UInt8])
        /// An event that is not wanted.
        case skipped
    }

    private struct Slot {
        let event: ControlEvent
        var reply: [UInt8]?
    }

    private let capacity: Int
    private var slots: [Slot] = []
    /// How many events there have been: the latest one's sequence.
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    private var oldest: Int { count - slots.count + 1 }

    /// Takes in an event, and numbers it.
    mutating func append(_ event: ControlEvent) {
        var event = event
        count += 1
        event.sequence = count
        let slot = Slot(event: event)
        if slots.count < capacity { slots.append(slot) } else { slots[(count - 1) % capacity] = slot }
    }

    /// Begins to read, with the latest `history` events that are wanted.
    func cursor(apps: [String]?, history: Int) -> Cursor {
        let apps = apps.map { Set($0) }
        var cursor = Cursor(next: count + 1, apps: apps)
        var left = history
        while left > 0, cursor.next > oldest {
            cursor.next -= 1
            if Self.isWanted(slots[(cursor.next - 1) % capacity].event, by: cursor) { left -= 1 }
        }
        return cursor
    }

    /// True when there is something to read.
    func hasMore(for cursor: Cursor) -> Bool {
        cursor.next <= count
    }

    /// Reads on; nil when everything is read.
    mutating func read(_ cursor: inout Cursor, encode: (ControlEvent) -> [UInt8]) -> Step? {
        guard cursor.next <= count else { return nil }
        if cursor.next < oldest {
            let missed = oldest - cursor.next
            cursor.next = oldest
            return .missed(missed)
        }
        let index = (cursor.next - 1) % capacity
        cursor.next += 1
        guard Self.isWanted(slots[index].event, by: cursor) else { return .skipped }
        if let reply = slots[index].reply { return .reply(reply) }
        let reply = encode(slots[index].event)
        slots[index].reply = reply
        return .reply(reply)
    }

    private static func isWanted(_ event: ControlEvent, by cursor: Cursor) -> Bool {
        guard let apps = cursor.apps, let app = event.app else { return true }
        return apps.contains(app)
    }
}
