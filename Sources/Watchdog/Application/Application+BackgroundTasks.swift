// SPDX-License-Identifier: Apache-2.0

import Dispatch

extension Application {
    /// Keeps the app from being suspended until a piece of work has ended, if it enters the background meanwhile.
    ///
    /// This starts no work. End each task with ``endBackgroundTask(_:)``, at the latest in the expiration handler: watchdogd kills an
    /// app that has an open task when the time is over. All tasks share the time, which runs only in the background and may be
    /// cut short. If the time is over when a task begins, its handler is called at once.
    ///
    /// Call it from any thread, at any time. Without a supervisor, it has no effect and no cost.
    ///
    /// - Parameters:
    ///   - name: The work, as the report names it if it does not end in time; at most 128 bytes. The default is the caller's
    ///     module and function.
    ///   - expirationHandler: Called on the main actor when the time is nearly over, with the task. It must end the task before it
    ///     returns; all handlers together have a few seconds.
    ///   - function: The calling function.
    ///   - file: The file of the call.
    /// - Returns: The task; ``BackgroundTaskID/invalid`` if the app is about to exit.
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
    /// Ending a task twice, or ``BackgroundTaskID/invalid``, has no effect. Any thread may call it.
    public nonisolated func endBackgroundTask(_ task: BackgroundTaskID) {
        backgroundTasks.end(task)
    }

    /// The estimated time left for background tasks; nil without a limit: in the foreground, and without a supervisor.
    ///
    /// Any thread may read it. Do not base decisions on it: the time may be cut short.
    public nonisolated var backgroundTimeRemaining: Duration? {
        backgroundTasks.timeRemaining
    }

    /// Calls a block on another thread, and keeps the app from being suspended while it runs.
    ///
    /// When its time is over, the block is called again, with `true`, while the first call is still running and should
    /// then finish. If no time is available, the block is called only with `true`.
    ///
    /// Any thread may call it.
    ///
    /// - Parameters:
    ///   - reason: The work, as a report names it; not empty.
    ///   - block: Does the work when called with `false`, and ends it when called with `true`.
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

extension Application {
    /// One background task of this process.
    public struct BackgroundTaskID: Hashable, Sendable {
        /// The app's number for the task, from 1 upwards.
        public let rawValue: UInt64

        /// No task: it could not begin.
        public static let invalid = BackgroundTaskID(rawValue: 0)
    }
}
