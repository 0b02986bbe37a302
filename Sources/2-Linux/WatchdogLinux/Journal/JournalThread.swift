// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// The thread that sends entries to journald, so that the loop never waits for it.
///
/// While journald is stopped, entries are queued. When the queue is full, they are dropped and counted, and one entry
/// reports the count once journald reads again. The thread keeps this object alive until ``shutDown(within:)``.
///
/// Isolation: may be used from any thread.
public final class JournalThread: Sendable {
    private struct State {
        var waiting: [JournalEntry] = []
        /// The size of all waiting entries.
        var bytes = 0
        var untold = 0
        var dropped = 0
        var end: Instant?

        /// Queues an entry if there is room for it.
        mutating func admit(_ entry: JournalEntry, count: Int, bytes limit: Int) -> Bool {
            guard end == nil, waiting.count < count, bytes + entry.size <= limit else { return false }
            waiting.append(entry)
            bytes += entry.size
            return true
        }

        mutating func lose() {
            dropped += 1
            untold += 1
        }
    }

    private enum Turn {
        case entry(JournalEntry)
        case nothing
        case end
    }

    /// The maximum number of queued entries.
    public let capacity: Int
    /// The maximum size of all queued entries in bytes.
    public let byteCapacity: Int
    private let address: JournalAddress
    private let lossEntry: @Sendable (Int) -> JournalEntry
    private let state = Locked(State())
    private let wakeUp: OwnedDescriptor
    private let ended: OwnedDescriptor

    /// Starts the thread, which connects when there is something to send.
    ///
    /// - Parameters:
    ///   - address: Where journald listens.
    ///   - capacity: The maximum number of queued entries.
    ///   - byteCapacity: The maximum size of all queued entries; an entry with an attachment that exceeds it is queued
    ///     without the attachment.
    ///   - lossEntry: Makes the entry that reports how many were dropped.
    public init(
        _ address: JournalAddress = .system, capacity: Int = 256, byteCapacity: Int = 16 << 20,
        lossEntry: @escaping @Sendable (Int) -> JournalEntry
    ) throws(LinuxError) {
        precondition(capacity > 0, "a queue must hold an entry")
        self.address = address
        self.capacity = capacity
        self.byteCapacity = byteCapacity
        self.lossEntry = lossEntry
        wakeUp = OwnedDescriptor(taking: try check("create an eventfd") { wd_eventfd() })
        ended = OwnedDescriptor(taking: try check("create an eventfd") { wd_eventfd() })
        try WorkerThread.start { [self] in run() }.detach()
    }

    /// Queues an entry; returns false if the queue was full and the entry was dropped.
    ///
    /// An attachment that does not fit is left out, and the entry says so. Never blocks longer than it takes to move
    /// an entry; attachments are not copied.
    @discardableResult
    public func post(_ entry: JournalEntry) -> Bool {
        let fits = state.withLock { state in
            if state.admit(entry, count: capacity, bytes: byteCapacity) { return true }
            if let rest = entry.withoutAttachment(because: "too many messages waited for the journal"),
                state.admit(rest, count: capacity, bytes: byteCapacity)
            {
                return true
            }
            state.lose()
            return false
        }
        if fits { _ = wd_eventfd_signal(wakeUp.number) }
        return fits
    }

    /// How many entries were dropped so far, because the queue was full or journald was missing.
    public var droppedCount: Int { state.withLock { $0.dropped } }

    /// The size of the queued entries.
    var waitingBytes: Int { state.withLock { $0.bytes } }

    /// Stops the thread once it has sent the queue, but no later than after `limit`; waits for that.
    public func shutDown(within limit: Duration) {
        let end = Instant.now() + limit
        state.withLock { if $0.end == nil { $0.end = end } }
        _ = wd_eventfd_signal(wakeUp.number)
        var entry = pollfd(fd: ended.number, events: Int16(POLLIN), revents: 0)
        while entry.revents == 0, poll(&entry, 1, Self.milliseconds(until: end + .milliseconds(100))) < 0 {}
    }

    // MARK: - The thread

    private func run() {
        var socket = JournalSocket(address)
        while true {
            switch next() {
            case .entry(let entry):
                let isSent = send(entry, &socket)
                if isSent { tellLosses(&socket) } else { state.withLock { $0.lose() } }
            case .nothing:
                wait(for: nil)
            case .end:
                _ = wd_eventfd_signal(ended.number)
                return
            }
        }
    }

    private func next() -> Turn {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return state.end == nil ? .nothing : .end }
            let entry = state.waiting.removeFirst()
            state.bytes -= entry.size
            return .entry(entry)
        }
    }

    private func tellLosses(_ socket: inout JournalSocket) {
        let count = state.withLock { state in
            defer { state.untold = 0 }
            return state.untold
        }
        guard count > 0, !send(lossEntry(count), &socket) else { return }
        state.withLock { $0.untold += count }
    }

    /// - Returns: false if journald is missing, or did not read the entry before the deadline.
    private func send(_ entry: JournalEntry, _ socket: inout JournalSocket) -> Bool {
        let bytes = entry.bytes
        while true {
            switch socket.send(bytes) {
            case .sent: return true
            case .refused:
                guard let rest = entry.withoutAttachment(because: "the journal did not accept an entry of this size")
                else { return false }
                return send(rest, &socket)
            case .full:
                let end = state.withLock { $0.end }
                if let end, Instant.now() >= end { return false }
                wait(for: socket.descriptor)
            }
        }
    }

    /// Waits until an entry is posted, the deadline is set, or a descriptor becomes writable.
    private func wait(for descriptor: OwnedDescriptor?) {
        let end = state.withLock { $0.end }
        var entries = [
            // Once the deadline is set, its time replaces the wake-up. poll(2) skips negative numbers.
            pollfd(fd: end == nil ? wakeUp.number : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor?.number ?? -1, events: Int16(POLLOUT), revents: 0),
        ]
        poll(&entries, 2, end.map { Self.milliseconds(until: $0) } ?? -1)
        if entries[0].revents != 0 { _ = wd_eventfd_clear(wakeUp.number) }
    }

    /// Rounded up, so that the instant has passed when the wait ends.
    private static func milliseconds(until instant: Instant) -> Int32 {
        Int32(clamping: (max(.zero, instant - .now()).nanoseconds + 999_999) / 1_000_000)
    }
}
