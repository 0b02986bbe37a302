// SPDX-License-Identifier: Apache-2.0

import Dispatch

extension Watchdog {
    /// The connection to the supervisor, for an app with its own main loop.
    ///
    /// The supervisor watches whatever calls ``service()``. Call it from the loop that must not hang, and from nowhere
    /// else:
    ///
    /// ```swift
    /// let link = try Watchdog.attach()
    /// Watchdog.ready()
    /// while true {
    ///     var waits = [pollfd(fd: link.descriptor ?? -1, events: Int16(POLLIN), revents: 0)]  // … and the app's own
    ///     poll(&waits, nfds_t(waits.count), link.pollTimeout)
    ///     if link.service().contains(.terminate) { break }
    ///     // … the app's own work
    /// }
    /// ```
    ///
    /// Keep it as long as the loop runs.
    ///
    /// Isolation: belongs to the thread of the loop; not sendable.
    public final class Link {
        private let session: Session
        /// Keeps the descriptor number reserved after the supervisor has exited: a loop that still polls it must not
        /// poll an unrelated file that reused the number.
        private let heldDescriptor: Descriptor?

        init(_ session: Session) {
            self.session = session
            heldDescriptor = session.descriptor
        }

        /// The descriptor to wait on for reading; nil if no message will arrive.
        ///
        /// Stop waiting on it when ``service()`` has returned ``Event/disconnected``.
        public var descriptor: Int32? {
            session.descriptor?.number
        }

        /// The maximum wait of the loop before it must call ``service()`` even if no message has arrived; nil without a
        /// limit.
        public var timeout: Duration? {
            guard let deadline = session.deadline else { return nil }
            let (late, now) = (deadline.uptimeNanoseconds, DispatchTime.now().uptimeNanoseconds)
            return .nanoseconds(late > now ? Int64(clamping: late - now) : 0)
        }

        /// The same as ``timeout`` in the form that poll(2) and epoll_wait(2) take: milliseconds rounded up, −1 for no
        /// limit.
        public var pollTimeout: Int32 {
            guard let timeout else { return -1 }
            let (seconds, attoseconds) = timeout.components
            let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
            guard !overflow, milliseconds < Int64(Int32.max) - 1000 else { return .max }
            return Int32(milliseconds) + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
        }

        /// Answers pings, sends what is due and returns new events; never blocks, unless a test injects a hang
        /// (`run --fault main-hang`).
        ///
        /// Call it when ``descriptor`` is readable and when ``timeout`` has passed. Extra calls do no harm.
        ///
        /// - Returns: The events since the last call, in order.
        public func service() -> [Event] {
            session.service(at: .now()).compactMap { incoming in
                switch incoming {
                case .terminate: return .terminate
                case .disconnected: return .disconnected
                case .hang(let duration):
                    HangOnDemand.block(for: duration)
                    return nil
                // Only apps with a lifecycle receive these.
                case .transition, .backgroundTime, .expire, .event: return nil
                }
            }
        }
    }
}

@available(*, unavailable)
extension Watchdog.Link: Sendable {}

extension Watchdog {
    /// A request or notice of the supervisor to an app that serves its own loop.
    public enum Event: Hashable, Sendable {
        /// The app must exit; it is killed if it has not exited within an allowance.
        ///
        /// SIGTERM is sent as well, and ends the app first unless the app handles it.
        case terminate
        /// The supervisor has exited. ``Link/descriptor`` is nil from now on, and no more events follow.
        case disconnected
    }
}
