// SPDX-License-Identifier: Apache-2.0

/// The latest events, for readers with independent positions; an event and its outline are encoded at most once.
struct EventRing {
    /// The position of a reader.
    struct Cursor {
        /// The sequence number of the next event.
        fileprivate(set) var next: Int
        /// The apps whose events to read, in addition to events about all apps; nil for every app.
        let apps: Set<String>?
        /// Whether the reader gets the outlines of events.
        let isOutlined: Bool
    }

    /// The result of reading.
    enum Step {
        /// The number of events that were dropped before they were read.
        case missed(Int)
        /// The encoded event, including its NUL.
        case reply([UInt8])
        /// An event of another app.
        case skipped
    }

    private struct Slot {
        let event: ControlEvent
        var reply: [UInt8]?
        var outline: [UInt8]?
    }

    private let capacity: Int
    private var slots: [Slot] = []
    /// The number of events so far, which is the sequence number of the latest.
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    private var oldest: Int { count - slots.count + 1 }

    /// Adds an event and numbers it.
    mutating func append(_ event: ControlEvent) {
        var event = event
        count += 1
        event.sequence = count
        let slot = Slot(event: event)
        if slots.count < capacity { slots.append(slot) } else { slots[(count - 1) % capacity] = slot }
    }

    /// Starts to read, with up to `history` of the latest matching events.
    func cursor(apps: [String]?, history: Int, isOutlined: Bool = false) -> Cursor {
        let apps = apps.map { Set($0) }
        var cursor = Cursor(next: count + 1, apps: apps, isOutlined: isOutlined)
        var left = history
        while left > 0, cursor.next > oldest {
            cursor.next -= 1
            if Self.isWanted(slots[(cursor.next - 1) % capacity].event, by: cursor) { left -= 1 }
        }
        return cursor
    }

    /// Whether there are events to read.
    func hasMore(for cursor: Cursor) -> Bool {
        cursor.next <= count
    }

    /// Reads the next event; nil at the end.
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
        let place: WritableKeyPath<Slot, [UInt8]?> = cursor.isOutlined ? \.outline : \.reply
        if let reply = slots[index][keyPath: place] { return .reply(reply) }
        let event = slots[index].event
        let reply = encode(cursor.isOutlined ? event.outline : event)
        slots[index][keyPath: place] = reply
        return .reply(reply)
    }

    private static func isWanted(_ event: ControlEvent, by cursor: Cursor) -> Bool {
        guard let apps = cursor.apps, let app = event.app else { return true }
        return apps.contains(app)
    }
}
