// SPDX-License-Identifier: Apache-2.0

public import NIOCore
import Watchdog
import WatchdogWakeups

/// Answers the supervisor on the event loop that serves the app's clients: when that is stuck, no answer comes.
///
/// With several event loops, watch the one that accepts connections, or the one whose work matters most.
public final class WatchedEventLoop: Sendable {
    private let link: NIOLoopBound<Watchdog.Link>
    private let onTerminate: @Sendable () -> Void
    private let wakeups: Wakeups

    /// Connects to the supervisor; in place of `Watchdog.start()`.
    ///
    /// - Parameters:
    ///   - eventLoop: What is watched from now on.
    ///   - onTerminate: Called on it when the app is asked to end. SIGTERM comes beside that and is the app's own affair.
    /// - Returns: An object that has to be kept as long as the event loop runs.
    public static func watch(
        _ eventLoop: any EventLoop,
        onTerminate: @escaping @Sendable () -> Void
    ) -> EventLoopFuture<WatchedEventLoop> {
        eventLoop.submit {
            let watched = try WatchedEventLoop(eventLoop, onTerminate)
            watched.service()
            return watched
        }
    }

    private init(_ eventLoop: any EventLoop, _ onTerminate: @escaping @Sendable () -> Void) throws {
        let link = try Watchdog.attach()
        self.link = NIOLoopBound(link, eventLoop: eventLoop)
        self.onTerminate = onTerminate
        let wake = Relay()
        wakeups = Wakeups(link) { eventLoop.execute { wake.target?.service() } }
        wake.target = self
    }

    private func service() {
        if link.value.service().contains(.terminate) { onTerminate() }
        wakeups.arm(link.value)
    }

    /// Breaks the circle between the two objects while they are made.
    ///
    /// SAFETY: used on the event loop only.
    private final class Relay: @unchecked Sendable {
        weak var target: WatchedEventLoop?
    }
}
