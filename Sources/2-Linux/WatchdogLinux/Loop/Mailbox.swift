// SPDX-License-Identifier: Apache-2.0

import CLinux

/// The path from other threads into a loop: a queue that never blocks and never loses a message.
///
/// The queue is unbounded, but each message ends one piece of work that the loop has requested, so this work bounds its
/// length.
///
/// Isolation: may be shared between threads; ``EventLoop/receive(from:priority:handler:)`` takes messages out on the
/// loop's thread.
public final class Mailbox<Message: Sendable>: Sendable {
    fileprivate let wakeUp: OwnedDescriptor
    private let queue = Locked<[Message]>([])

    /// Creates an empty mailbox.
    public init() throws(LinuxError) {
        wakeUp = OwnedDescriptor(taking: try check("create an eventfd") { wd_eventfd() })
    }

    /// Posts a message.
    ///
    /// Never blocks longer than it takes to copy a message.
    public func post(_ message: Message) {
        let wasEmpty = queue.withLock { queue in
            queue.append(message)
            return queue.count == 1
        }
        if wasEmpty { _ = wd_eventfd_signal(wakeUp.number) }
    }

    /// Takes out all messages, oldest first; call it on the loop's thread, for what was posted after the loop's end.
    public func takeAll() -> [Message] {
        // Clear the counter first: a message posted in between then wakes the loop again.
        _ = wd_eventfd_clear(wakeUp.number)
        return queue.withLock { queue in
            let messages = queue
            queue = []
            return messages
        }
    }
}

extension EventLoop {
    /// Calls the handler, in order, for each message that other threads post.
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
