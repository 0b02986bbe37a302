// SPDX-License-Identifier: Apache-2.0

public import ServiceLifecycle
import Watchdog
import WatchdogWakeups

/// A service that answers the supervisor from Swift's cooperative thread pool, where the other services run.
///
/// It proves that the pool gets to its next task. If every thread of it is blocked, by system calls that wait or by computations
/// that do not end, no answer comes, and the app is killed as hung.
///
/// Put it into the group so that its end ends the group, and call `Watchdog.ready()` when the app can be used:
///
/// ```swift
/// ServiceGroup(
///     configuration: .init(
///         services: [
///             .init(service: server),
///             .init(service: WatchdogService(), successTerminationBehavior: .gracefullyShutdownGroup),
///         ],
///         gracefulShutdownSignals: [.sigterm],
///         logger: logger
///     )
/// )
/// ```
public struct WatchdogService: Service {
    /// Creates the service; in place of `Watchdog.start()`.
    public init() {}

    /// Answers until the supervisor asks the app to end or the group shuts down.
    ///
    /// - Throws: `Watchdog.AttachError` when a main loop has been chosen already.
    public func run() async throws {
        let link = try Watchdog.attach()
        let (turns, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let wakeups = Wakeups(link) { continuation.yield() }
        defer { wakeups.stop() }
        continuation.yield()
        for await _ in turns.cancelOnGracefulShutdown() {
            if link.service().contains(.terminate) { break }
            wakeups.arm(link)
        }
        Watchdog.stopping()
    }
}
