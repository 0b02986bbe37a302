// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Services a session from a serial queue, which for apps is the main one.
///
/// Isolation: everything but ``init`` and ``serviceSoon()`` happens on the queue.
final class MainQueueDriver: Sendable {
    private let session: Session
    private let queue: DispatchQueue
    private let onEvent: @Sendable (Session.Incoming) -> Void
    // SAFETY: Dispatch objects are thread-safe, but their Swift protocols are not marked Sendable.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private nonisolated(unsafe) let reader: (any DispatchSourceRead)?
    // SAFETY: only the thread that serves the queue uses it.
    private nonisolated(unsafe) var isTakenOver = false

    /// - Parameters:
    ///   - session: The session to service.
    ///   - queue: The queue to service it on; while a work item blocks it, pings stay unanswered.
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

    /// Reschedules the timer after the session's deadline has changed.
    func serviceSoon() {
        queue.async { [weak self] in self?.service() }
    }

    // MARK: - For a thread that serves the main queue itself

    /// The channel's descriptor, for a thread that polls it together with the queue's eventfd.
    ///
    /// Dispatch then stops watching it, which saves a ping two thread switches. Call it on the thread that serves the
    /// queue, between two work items.
    ///
    /// - Returns: -1 if there is no channel, which poll(2) ignores.
    func detachChannel() -> Int32 {
        if !isTakenOver {
            isTakenOver = true
            reader?.cancel()
        }
        return session.descriptor?.number ?? -1
    }

    /// Answers messages on the channel; call it like ``detachChannel()``.
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
