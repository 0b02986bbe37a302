// SPDX-License-Identifier: Apache-2.0

import CLinux

/// The way from other threads into a loop: a queue that never blocks and never grows beyond its capacity.
///
/// Isolation: may be shared between threads; ``EventLoop/receive(from:priority:handler:)`` takes messages out on the
/// loop's thread.
public final class Mailbox<Message: Sendable>: Sendable {
    private struct Queue {
        var messages: [Message] = []
        var dropped: UInt64 = 0
    }

    /// How many messages wait at most.
    public let capacity: Int
    fileprivate let wakeUp: OwnedDescriptor
    private let queue = Locked(Queue())

    /// Creates an empty mailbox.
    public init(capacity: Int) throws(LinuxError) {
        precondition(capacity > 0, "a mailbox must hold a message")
        self.capacity = capacity
        wakeUp = OwnedDescriptor(taking: try check("create an eventfd") { wd_eventfd() })
    }

    /// Leaves a message; false when there was no room and it was dropped.
    ///
    /// Never blocks for longer than it takes to copy a message.
    @discardableResult
    public func post(_ message: Message) -> Bool {
        let (fits, wasEmpty) = queue.withLock { queue in
            guard queue.messages.count < capacity else {
                queue.dropped += 1
                return (false, false)
            }
            queue.messages.append(message)
            return (true, queue.messages.count == 1)
        }
        if wasEmpty { _ = wd_eventfd_signal(wakeUp.number) }
        return fits
    }

    /// How many messages found no room so far.
    public var droppedCount: UInt64 {
        queue.withLock { $0.dropped }
    }

    /// Takes out all messages, oldest first.
    fileprivate func takeAll() -> [Message] {
        // The counter first: a message that comes in between wakes the loop once more.
        _ = wd_eventfd_clear(wakeUp.number)
        return queue.withLock { queue in
            let messages = queue.messages
            queue.messages = []
            return messages
        }
    }
}

extension EventLoop {
    /// Calls the handler for each message that other threads leave in the mailbox, in order.
    public func receive<Message>(
        from mailbox: Mailbox<Message>,
        priority: Priority = .normal,
        handler: @escaping (Message) -> Void
    ) throws(LinuxError) -> IOSource {
        try onReadable(mailbox.wakeUp, priority: priority) {
            for message in mailbox.takeAll() { handler(message) }
        }
    }
}
