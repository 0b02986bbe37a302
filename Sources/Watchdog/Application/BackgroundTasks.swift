// SPDX-License-Identifier: Apache-2.0

import Dispatch
import WatchdogWire

/// The open background tasks of an app, and their shared time limit.
///
/// Isolation: any thread; handlers are called on the main actor.
final class BackgroundTasks: Sendable {
    typealias Handler = @MainActor @Sendable (Application.BackgroundTaskID) -> Void

    private struct State {
        var lastID: UInt64 = 0
        /// The handlers of the open tasks; nil for a task without one, or whose handler has been called.
        var handlers: [UInt64: Handler?] = [:]
        var isForeground = true
        /// Whether the supervisor has announced that the time is nearly over; false again in the foreground.
        var isExpired = false
        var isClosed = false
        var deadline: DispatchTime?
    }

    private let state = Locked(State())
    private let say: @Sendable ((inout ClientMessage) -> Void) -> Void
    private let now: @Sendable () -> DispatchTime

    init(
        say: @escaping @Sendable ((inout ClientMessage) -> Void) -> Void,
        now: @escaping @Sendable () -> DispatchTime = { .now() }
    ) {
        self.say = say
        self.now = now
    }

    // MARK: - Tasks

    /// - Parameters:
    ///   - name: The work, as the report names it.
    ///   - needsTime: True if the task must not begin when no time is left.
    ///   - handler: Called when the time is over; at once, if it is already.
    func begin(_ name: String, needsTime: Bool = false, handler: Handler?) -> Application.BackgroundTaskID {
        let (id, isLate): (UInt64, Bool) = state.withLock { state in
            guard !state.isClosed, !(needsTime && state.isExpired) else { return (0, false) }
            state.lastID += 1
            state.handlers.updateValue(handler, forKey: state.lastID)
            let id = state.lastID
            // Sent while the lock is held, so that endTask cannot overtake beginTask.
            say { $0.begin(.init(id: id, name: name)) }
            return (id, state.isExpired)
        }
        if isLate {
            // No time is left, so the task must end immediately.
            DispatchQueue.main.async { self.callHandler(of: id) }
        }
        return Application.BackgroundTaskID(rawValue: id)
    }

    /// Does nothing for a task that is not open.
    func end(_ task: Application.BackgroundTaskID) {
        state.withLock { state in
            guard state.handlers.removeValue(forKey: task.rawValue) != nil else { return }
            say { $0.endTask(task.rawValue) }
        }
    }

    func isOpen(_ task: Application.BackgroundTaskID) -> Bool {
        state.withLock { $0.handlers[task.rawValue] != nil }
    }

    // MARK: - Time

    /// The time left; nil without a limit.
    var timeRemaining: Duration? {
        state.withLock { state in
            guard !state.isForeground, let deadline = state.deadline else { return nil }
            let (late, now) = (deadline.uptimeNanoseconds, now().uptimeNanoseconds)
            return .nanoseconds(late > now ? Int64(clamping: late - now) : 0)
        }
    }

    func setForeground(_ isForeground: Bool) {
        state.withLock { state in
            state.isForeground = isForeground
            guard isForeground else { return }
            (state.isExpired, state.deadline) = (false, nil)
        }
    }

    func setTime(_ time: Duration) {
        let nanoseconds = time / .nanoseconds(1)
        let deadline = now() + .nanoseconds(Int(min(nanoseconds, 1e18)))
        state.withLock { $0.deadline = deadline }
    }

    func forgetTime() {
        state.withLock { $0.deadline = nil }
    }

    /// Rejects all further tasks.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    // MARK: - Expiration

    /// Calls the handlers of all open tasks, one after another in the order of their beginnings.
    ///
    /// Each is called once. A task that an earlier handler has ended is skipped.
    @MainActor
    func expire() {
        let tasks: [UInt64] = state.withLock { state in
            guard !state.isForeground else { return [] }
            state.isExpired = true
            return state.handlers.keys.sorted()
        }
        for task in tasks { callHandler(of: task) }
    }

    @MainActor
    private func callHandler(of task: UInt64) {
        let handler: Handler? = state.withLock { state in
            guard let handler = state.handlers[task] else { return nil }
            state.handlers.updateValue(nil, forKey: task)
            return handler
        }
        handler?(Application.BackgroundTaskID(rawValue: task))
    }
}
