// SPDX-License-Identifier: Apache-2.0

import Dispatch

extension Application {
    /// Asks not to be suspended before a piece of work has ended, should the app go to the background meanwhile.
    ///
    /// It starts nothing. Each task must be ended with ``endBackgroundTask(_:)``, at the latest by the expiration handler: an app
    /// that has an open task when the time is over is killed. The time is the app's, not the task's; it runs only in the
    /// background, and may be cut short. A task that begins when it is over already has its handler called at once.
    ///
    /// May be called from any thread, at any time. Without a supervisor there is nothing to prevent, and it costs nothing.
    ///
    /// - Parameters:
    ///   - name: What the work is, as the report names it when it has not ended in time; of 128 bytes at most. By default it
    ///     is made from the caller's module and function.
    ///   - expirationHandler: Called on the main actor when the time is nearly over, with the task; it must end it before it
    ///     returns, and all handlers together have a few seconds.
    ///   - function: Who calls.
    ///   - file: Where.
    /// - Returns: The task; ``BackgroundTaskID/invalid`` when the app is about to end.
    public nonisolated func beginBackgroundTask(
        named name: String? = nil,
        expirationHandler: (@MainActor @Sendable (BackgroundTaskID) -> Void)? = nil,
        function: StaticString = #function,
        file: StaticString = #fileID
    ) -> BackgroundTaskID {
        let module = "\(file)".prefix { $0 != "/" }
        return backgroundTasks.begin(name ?? "Called by \(module), from \(function)", handler: expirationHandler)
    }

    /// Ends a background task.
    ///
    /// A task that has ended before, and ``BackgroundTaskID/invalid``, are left alone. May be called from any thread.
    public nonisolated func endBackgroundTask(_ task: BackgroundTaskID) {
        backgroundTasks.end(task)
    }

    /// How long background tasks may go on, as an estimate; nil when nothing limits it, in the foreground and without a supervisor.
    ///
    /// May be called from any thread. Nothing should be decided by it: the time may be cut short.
    public nonisolated var backgroundTimeRemaining: Duration? {
        backgroundTasks.timeRemaining
    }

    /// Calls a block on another thread and asks not to be suspended while it runs.
    ///
    /// When the time for it is over, the block is called a second time with `true`, while the first call still runs, which should
    /// then come to its end. When there is no time to be had, the block is called with `true` only.
    ///
    /// May be called from any thread.
    ///
    /// - Parameters:
    ///   - reason: What the work is, as a report names it; not empty.
    ///   - block: Does the work when called with `false`, and makes it end when called with `true`.
    public nonisolated func performExpiringActivity(
        withReason reason: String,
        using block: @escaping @Sendable (_ isExpired: Bool) -> Void
    ) {
        precondition(!reason.isEmpty, "an expiring activity has a reason")
        let tasks = backgroundTasks
        DispatchQueue.global().async {
            let task = tasks.begin(reason, needsTime: true) { task in
                DispatchQueue.global().async {
                    guard tasks.isOpen(task) else { return }
                    block(true)
                }
            }
            guard task != .invalid else {
                block(true)
                return
            }
            block(false)
            tasks.end(task)
        }
    }
}
