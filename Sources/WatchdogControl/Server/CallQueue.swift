// SPDX-License-Identifier: Apache-2.0

/// The calls of one client that are in progress: they are worked on together, and their replies go out in the order of the
/// calls.
///
/// Isolation: the loop's thread.
struct CallQueue {
    /// What a call has got so far.
    enum Progress {
        /// The handler owes the reply.
        case awaited
        /// The reply is there, and perhaps partly written.
        case ready(ReplyWriter)
        /// Events, from the cursor on, until the connection ends; without `follows`, until those that exist are sent.
        ///
        /// - Parameter opening: the first reply, until it is written.
        case monitoring(EventRing.Cursor, follows: Bool, opening: [UInt8]?)
    }

    private var calls: [(number: UInt64, progress: Progress)] = []
    private var lastNumber: UInt64 = 0

    var count: Int { calls.count }
    var isEmpty: Bool { calls.isEmpty }

    /// What the first call has got, whose reply goes out next; nil if there is no call.
    var first: Progress? { calls.first?.progress }

    /// Adds a call, and returns its number.
    @discardableResult
    mutating func add(_ progress: Progress) -> UInt64 {
        lastNumber += 1
        calls.append((lastNumber, progress))
        return lastNumber
    }

    /// Whether the handler owes the reply to a call.
    func awaits(_ number: UInt64) -> Bool { index(awaiting: number) != nil }

    /// Notes the reply to a call that waits for one.
    mutating func answer(_ number: UInt64, _ reply: ReplyWriter) {
        if let index = index(awaiting: number) { calls[index].progress = .ready(reply) }
    }

    private func index(awaiting number: UInt64) -> Int? {
        calls.firstIndex { call in
            if case .awaited = call.progress { call.number == number } else { false }
        }
    }

    /// Passes what the first call has got to the closure, which returns what it has got then; nil if its reply is complete.
    mutating func updateFirst(_ update: (Progress) -> Progress?) {
        guard let first = calls.first else { return }
        if let progress = update(first.progress) { calls[0].progress = progress } else { calls.removeFirst() }
    }

    /// Drops what a client that is gone will not read; what the handler still owes remains, because it occupies the handler.
    mutating func dropReplies() {
        calls.removeAll { call in
            if case .awaited = call.progress { false } else { true }
        }
    }
}
