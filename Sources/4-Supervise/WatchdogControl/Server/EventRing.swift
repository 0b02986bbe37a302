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

    /// An event whose texts are elsewhere: its app, its message and its report, one after the other.
    private struct Slot {
        let time: Timestamp
        let kind: ControlEvent.Kind
        let pid: Int32?
        let texts: Int
        let appLength: Int?
        let messageLength: Int
        let reportLength: Int?
        var reply: [UInt8]?
        var outline: [UInt8]?
    }

    /// Texts in one piece of memory.
    ///
    /// Each in a piece of its own, they would keep a page each of the memory of apps that are gone: an allocator can only give
    /// whole pages back.
    private struct Texts {
        private var bytes: [UInt8] = []
        /// The position of the first byte.
        private var start = 0

        var end: Int { start + bytes.count }

        /// - Returns: its length; nil for no text.
        mutating func append(_ text: String?) -> Int? {
            guard let text else { return nil }
            let before = bytes.count
            bytes.append(contentsOf: text.utf8)
            return bytes.count - before
        }

        func text(at position: Int, _ length: Int) -> String {
            String(decoding: bytes[position - start..<position - start + length], as: UTF8.self)
        }

        /// Gives up what lies before a position, once that is the larger part.
        mutating func drop(before position: Int) {
            let count = position - start
            guard count > 4_096, count > bytes.count / 2 else { return }
            bytes.removeFirst(count)
            start = position
        }
    }

    private let capacity: Int
    private var slots: [Slot] = []
    private var texts = Texts()
    /// The number of events so far, which is the sequence number of the latest.
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    private var oldest: Int { count - slots.count + 1 }

    /// Adds an event and numbers it.
    mutating func append(_ event: ControlEvent) {
        count += 1
        let position = texts.end
        let slot = Slot(
            time: event.time, kind: event.kind, pid: event.pid, texts: position, appLength: texts.append(event.app),
            messageLength: texts.append(event.message) ?? 0, reportLength: texts.append(event.report))
        if slots.count < capacity { slots.append(slot) } else { slots[(count - 1) % capacity] = slot }
        texts.drop(before: slots[(oldest - 1) % capacity].texts)
    }

    private func app(of slot: Slot) -> String? { slot.appLength.map { texts.text(at: slot.texts, $0) } }

    /// The event with this sequence number, which has not been dropped.
    private func event(_ number: Int) -> ControlEvent {
        let slot = slots[(number - 1) % capacity]
        let message = slot.texts + (slot.appLength ?? 0)
        return ControlEvent(
            slot.kind, app: app(of: slot), message: texts.text(at: message, slot.messageLength), time: slot.time,
            pid: slot.pid, report: slot.reportLength.map { texts.text(at: message + slot.messageLength, $0) },
            sequence: number)
    }

    /// Starts to read, with up to `history` of the latest matching events.
    func cursor(apps: [String]?, history: Int, isOutlined: Bool = false) -> Cursor {
        let apps = apps.map { Set($0) }
        var cursor = Cursor(next: count + 1, apps: apps, isOutlined: isOutlined)
        var left = history
        while left > 0, cursor.next > oldest {
            cursor.next -= 1
            if isWanted(slots[(cursor.next - 1) % capacity], by: cursor) { left -= 1 }
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
        let number = cursor.next
        let index = (number - 1) % capacity
        cursor.next += 1
        guard isWanted(slots[index], by: cursor) else { return .skipped }
        let place: WritableKeyPath<Slot, [UInt8]?> = cursor.isOutlined ? \.outline : \.reply
        if let reply = slots[index][keyPath: place] { return .reply(reply) }
        let event = event(number)
        let reply = encode(cursor.isOutlined ? event.outline : event)
        slots[index][keyPath: place] = reply
        return .reply(reply)
    }

    private func isWanted(_ slot: Slot, by cursor: Cursor) -> Bool {
        guard let apps = cursor.apps, let app = app(of: slot) else { return true }
        return apps.contains(app)
    }
}
