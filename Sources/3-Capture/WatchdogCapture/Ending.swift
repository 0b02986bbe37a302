// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The end of something on another thread, for which closures wait.
///
/// Isolation: may be used from any thread; nothing here waits.
final class Ending: Sendable {
    /// Nil after the end.
    private let calls = Mutex<[@Sendable () -> Void]?>([])

    /// Calls the closures that wait, on this thread.
    func come() {
        let waiting = calls.withLock { $0.take() }
        for call in waiting ?? [] { call() }
    }

    /// Calls a closure after the end, at once or on another thread.
    func whenCome(_ call: @escaping @Sendable () -> Void) {
        let waits = calls.withLock { $0?.append(call) != nil }
        if !waits { call() }
    }
}
