// SPDX-License-Identifier: Apache-2.0

/// The calls of one client that are in progress: they are executed concurrently, and their replies are sent in the
/// order of the calls.
///
/// Isolation: the loop's thread.
struct CallQueue {
    /// The progress of a call.
    enum Progress {
        /// The handler has not replied yet.
        case awaited
        /// The reply is available, and may be partly written.
        case ready(ReplyWriter)
        /// Events, from the cursor on, until the connection ends; without `follows`, until the existing ones are sent.
        ///
        /// - Parameter opening: the first reply, until it is written.
        case monitoring(EventRing.Cursor, follows: Bool, opening: [UInt8]?)
    }

    private var calls: [(number: UInt64, progress: Progress)] = []
    private var lastNumber: UInt64 = 0

    var count: Int { calls.count }
    var isEmpty: Bool { calls.isEmpty }

    /// The progress of the first call, whose reply is sent next; nil without calls.
    var first: Progress? { calls.first?.progress }

    /// Adds a call, and returns its number.
    @discardableResult
    mutating func add(_ progress: Progress) -> UInt64 {
        lastNumber += 1
        calls.append((lastNumber, progress))
        return lastNumber
    }

    /// Whether the handler has not replied to a call yet.
    func awaits(_ number: UInt64) -> Bool { index(awaiting: number) != nil }

    /// Stores the reply to a call that awaits it.
    mutating func answer(_ number: UInt64, _ reply: ReplyWriter) {
        if let index = index(awaiting: number) { calls[index].progress = .ready(reply) }
    }

    private func index(awaiting number: UInt64) -> Int? {
        calls.firstIndex { call in
            if case .awaited = call.progress { call.number == number } else { false }
        }
    }

    /// Updates the progress of the first call; the closure returns nil if the reply is complete.
    mutating func updateFirst(_ update: (Progress) -> Progress?) {
        guard let first = calls.first else { return }
        if let progress = update(first.progress) { calls[0].progress = progress } else { calls.removeFirst() }
    }

    /// Drops the replies to a disconnected client; calls without a reply remain, because the handler still works on
    /// them.
    mutating func dropReplies() {
        calls.removeAll { call in
            if case .awaited = call.progress { false } else { true }
        }
    }
}
