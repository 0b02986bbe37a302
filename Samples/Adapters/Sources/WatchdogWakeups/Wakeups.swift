// SPDX-License-Identifier: Apache-2.0

import Dispatch
public import Watchdog

/// Tells a main loop that cannot wait for a foreign descriptor when to call `Link.service()`.
///
/// It wakes once and then waits to be armed again, so that it does not keep waking a stuck loop.
///
/// Isolation: any thread; the link itself stays on the loop.
public final class Wakeups: Sendable {
    private let queue: DispatchQueue
    // SAFETY: all three are used on the queue only, after the initializer.
    private nonisolated(unsafe) let reader: (any DispatchSourceRead)?
    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private nonisolated(unsafe) var isArmed = false

    /// Prepares to wake; nothing happens before ``arm(_:)``.
    ///
    /// - Parameters:
    ///   - link: The connection, on its loop.
    ///   - wake: Called on a queue of its own; it should make the loop call `link.service()` and then ``arm(_:)``.
    public init(_ link: Watchdog.Link, wake: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "org.watchdogd.wakeups")
        self.queue = queue
        reader = link.descriptor.map { DispatchSource.makeReadSource(fileDescriptor: $0, queue: queue) }
        timer = DispatchSource.makeTimerSource(queue: queue)
        let fire = { @Sendable [unowned self] in
            guard isArmed else { return }
            isArmed = false
            reader?.suspend()
            wake()
        }
        reader?.setEventHandler(handler: fire)
        timer.setEventHandler(handler: fire)
        timer.schedule(deadline: .distantFuture)
        timer.activate()
    }

    /// Wakes once more, when a message has come or the link's time is up; to be called on the loop.
    public func arm(_ link: Watchdog.Link) {
        let (isConnected, pause) = (link.descriptor != nil, link.pollTimeout)
        queue.async { [self] in
            guard isConnected || reader == nil else {
                stopOnQueue()
                return
            }
            timer.schedule(deadline: pause < 0 ? .distantFuture : .now() + .milliseconds(Int(pause)))
            guard !isArmed else { return }
            isArmed = true
            reader?.resume()
        }
    }

    /// Wakes no more.
    public func stop() {
        queue.sync { stopOnQueue() }
    }

    private func stopOnQueue() {
        timer.cancel()
        guard let reader, !reader.isCancelled else { return }
        reader.cancel()
        // Dispatch does not forgive that a suspended source is let go.
        if !isArmed { reader.resume() }
        isArmed = true
    }
}
