// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Services a session from a serial queue, which for apps is the main one.
///
/// Isolation: everything but ``init`` and ``serviceSoon()`` happens on the queue.
final class MainQueueDriver: Sendable {
    private let session: Session
    private let queue: DispatchQueue
    private let onEvent: @Sendable (Watchdog.Event) -> Void
    // SAFETY: Dispatch's objects may be used from any thread, only their Swift protocols do not say so.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private nonisolated(unsafe) let reader: (any DispatchSourceRead)?

    /// - Parameters:
    ///   - session: What to service.
    ///   - queue: Where; whatever blocks it keeps pings unanswered.
    ///   - onEvent: Called on the queue.
    init(session: Session, queue: DispatchQueue, onEvent: @escaping @Sendable (Watchdog.Event) -> Void) {
        self.session = session
        self.queue = queue
        self.onEvent = onEvent
        timer = DispatchSource.makeTimerSource(queue: queue)
        reader = session.descriptor.map { descriptor in
            let reader = DispatchSource.makeReadSource(fileDescriptor: descriptor.number, queue: queue)
            // The descriptor must stay open until the source has let go of it: dispatch_source_set_cancel_handler(3).
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
