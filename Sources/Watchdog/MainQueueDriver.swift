// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Services a session from a serial queue, which for apps is the main one.
///
/// Isolation: everything but ``init`` and ``serviceSoon()`` happens on the queue.
final class MainQueueDriver: Sendable {
    private let session: Session
    private let queue: DispatchQueue
    private let onEvent: @Sendable (Session.Incoming) -> Void
    // SAFETY: Dispatch's objects may be used from any thread, only their Swift protocols do not say so.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private nonisolated(unsafe) let reader: (any DispatchSourceRead)?
    // SAFETY: used by the one thread that serves the queue.
    private nonisolated(unsafe) var isTakenOver = false

    /// - Parameters:
    ///   - session: What to service.
    ///   - queue: Where; whatever blocks it keeps pings unanswered.
    ///   - onEvent: Called on the queue.
    init(session: Session, queue: DispatchQueue, onEvent: @escaping @Sendable (Session.Incoming) -> Void) {
        self.session = session
        self.queue = queue
        self.onEvent = onEvent
        timer = DispatchSource.makeTimerSource(queue: queue)
        reader = session.descriptor.map { descriptor in
            let reader = DispatchSource.makeReadSource(fileDescriptor: descriptor.number, queue: queue)
            // The descriptor must stay open until the source has released it: dispatch_source_set_cancel_handler(3).
            reader.setCancelHandler { withExtendedLifetime(descriptor) {} }
            return reader
        }
    }

    func activate() {
        timer.setEventHandler { [weak self] in self?.service() }
        timer.schedule(deadline: .distantFuture)
        timer.activate()
        reader?.setEventHandler { [weak self] in self?.service() }
        reader?.activate()
        queue.async { [weak self] in self?.service() }
    }

    /// Tells the queue that the session has a new deadline.
    func serviceSoon() {
        queue.async { [weak self] in self?.service() }
    }

    // MARK: - For a thread that serves the main queue itself

    /// The channel's descriptor, for a thread that waits for the queue's work and for messages at once.
    ///
    /// Dispatch then stops watching it, so a ping passes through two threads fewer. Call it on the thread that serves
    /// the queue, between two of its items.
    ///
    /// - Returns: -1 if there is no channel, which poll(2) ignores.
    func takeOverChannel() -> Int32 {
        if !isTakenOver {
            isTakenOver = true
            reader?.cancel()
        }
        return session.descriptor?.number ?? -1
    }

    /// Answers messages on the channel; call it like ``takeOverChannel()``.
    func serviceChannel() {
        for event in session.service(at: .now()) {
            queue.async { [onEvent] in onEvent(event) }
        }
        timer.schedule(deadline: session.deadline ?? .distantFuture)
    }

    private func service() {
        for event in session.service(at: .now()) {
            if event == .disconnected {
                reader?.cancel()
            }
            onEvent(event)
        }
        timer.schedule(deadline: session.deadline ?? .distantFuture)
    }
}
