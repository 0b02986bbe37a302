// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Synchronization
internal import WatchdogBase
internal import WatchdogConversation

/// Collects the events of an app, and resumes the tasks that wait for them.
///
/// Isolation: any thread.
final class AppJournal: Sendable {
    private struct Waiter: Sendable {
        /// Returns the closure that resumes the waiter, once its condition is met.
        let look: @Sendable (AppHistory) -> (@Sendable () -> Void)?
        let fail: @Sendable (any Error) -> Void
        /// Creates the error of a wait that has timed out.
        ///
        /// It may retain the app, so it must be released with the waiter.
        let late: @Sendable (AppHistory) -> any Error
    }

    private struct State {
        var history = AppHistory()
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    private let state = Mutex(State())
    private static let timeouts = DispatchQueue(label: "org.watchdogd.testing.timeouts")

    var history: AppHistory { state.withLock { $0.history } }

    func take(_ line: [UInt8]) {
        // A later watchdogd may report events that this kit does not know.
        guard let event = try? JSONDecoder().decode(RemoteEvent.self, from: Data(line)) else { return }
        change { $0.add(event) }
    }

    func finish() { change { $0.finish() } }

    private func change(_ change: (inout AppHistory) -> Void) {
        let (history, waiters) = state.withLock { state in
            change(&state.history)
            return (state.history, state.waiters)
        }
        for (id, waiter) in waiters { look(id, waiter, history) }
    }

    /// Called without the lock, because the message of a failure may read the history.
    private func look(_ id: Int, _ waiter: Waiter, _ history: AppHistory) {
        guard let resume = waiter.look(history), remove(id) != nil else { return }
        resume()
    }

    private func remove(_ id: Int) -> Waiter? { state.withLock { $0.waiters.removeValue(forKey: id) } }

    /// Waits for a condition on the app's history.
    ///
    /// - Parameters:
    ///   - what: A description of the wait, for messages.
    ///   - limit: The time limit.
    ///   - late: Creates the error after the time limit.
    ///   - look: Returns the value from the history; nil to keep waiting.
    func wait<Value: Sendable>(
        for what: String, within limit: Duration, else late: @escaping @Sendable (AppHistory) -> any Error,
        for look: @escaping @Sendable (AppHistory) throws -> Value?
    ) async throws -> Value {
        let note = ForgottenWaits.begin(what)
        defer { ForgottenWaits.end(note) }
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                let waiter = Waiter(
                    look: { history in
                        switch Result(catching: { try look(history) }) {
                        case .success(nil): nil
                        case .success(let value?): { continuation.resume(returning: value) }
                        case .failure(let error): { continuation.resume(throwing: error) }
                        }
                    },
                    fail: { continuation.resume(throwing: $0) }, late: late)
                let history = state.withLock { state in
                    state.waiters[id] = waiter
                    return state.history
                }
                if Task.isCancelled { return end(id) { _, _ in CancellationError() } }
                self.look(id, waiter, history)
                Self.timeouts.asyncAfter(deadline: .now() + .nanoseconds(Int(min(limit.nanoseconds, 1 << 59)))) {
                    [weak self] in
                    self?.end(id) { $0.late($1) }
                }
            }
        } onCancel: {
            end(id) { _, _ in CancellationError() }
        }
    }

    private func end(_ id: Int, _ error: (Waiter, AppHistory) -> any Error) {
        guard let waiter = remove(id) else { return }
        waiter.fail(error(waiter, history))
    }
}
