// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import WatchdogBase

/// Signals that a loop handles like any other event.
public final class SignalSource: EventSource {
    /// A signal that arrived: signalfd(2).
    public struct Arrival: Hashable, Sendable {
        /// The signal's number.
        public let signal: Int32
        /// The sender's process ID; 0 for the kernel and for processes outside the pid namespace.
        public let senderProcess: Int32
        /// The sender's real user ID.
        public let senderUser: UInt32

        /// Creates an arrival from its parts.
        public init(signal: Int32, senderProcess: Int32, senderUser: UInt32) {
            self.signal = signal
            self.senderProcess = senderProcess
            self.senderUser = senderUser
        }
    }

    private let handler: (Arrival) -> Void

    fileprivate init(
        _ loop: EventLoop,
        _ signal: Int32,
        priority: EventLoop.Priority,
        handler: @escaping (Arrival) -> Void
    ) throws(LinuxError) {
        self.handler = handler
        super.init()
        try adopt(priority: priority, "receive signal \(signal)") { source, userData in
            sd_event_add_signal(
                loop.event, &source, signal,
                { _, information, userData in
                    guard let information = information?.pointee else { return 0 }
                    let arrival = Arrival(
                        signal: Int32(bitPattern: information.ssi_signo),
                        senderProcess: Int32(bitPattern: information.ssi_pid),
                        senderUser: information.ssi_uid
                    )
                    return EventSource.serve(userData, as: SignalSource.self) { $0.handler(arrival) }
                },
                userData
            )
        }
    }

    /// Blocks signals in the calling thread and in the threads that it creates from now on.
    ///
    /// The main thread calls this before it creates any thread: the kernel delivers a signal to any thread that does
    /// not block it, and the loop would never see it.
    public static func block(_ signals: [Int32]) {
        wd_signals_block(signals, signals.count)
    }

    /// Waits for one of these signals, which must be blocked, and takes it; false if none came in time.
    ///
    /// Not for the loop's thread.
    public static func wait(for signals: [Int32], atMost limit: Duration) -> Bool {
        wd_signals_wait(signals, signals.count, limit.nanoseconds)
    }
}

extension EventLoop {
    /// Calls the handler when one of the signals arrives; blocks them in the calling thread.
    ///
    /// Several pending instances of the same signal count as one: signal(7).
    public func onSignal(
        _ signals: [Int32],
        priority: Priority = .normal,
        handler: @escaping (SignalSource.Arrival) -> Void
    ) throws(LinuxError) -> [SignalSource] {
        SignalSource.block(signals)
        var sources: [SignalSource] = []
        for signal in signals {
            sources.append(try SignalSource(self, signal, priority: priority, handler: handler))
        }
        return sources
    }
}
