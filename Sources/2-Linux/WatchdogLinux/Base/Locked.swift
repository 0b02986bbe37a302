// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A value shared by threads of different priorities.
///
/// The holder of the lock inherits the priority of its waiters. Otherwise an ordinary thread, preempted while it posts
/// a message, would hold up the real-time loop for as long as the machine is busy.
package final class Locked<Value>: @unchecked Sendable {
    // SAFETY: `value` is accessed only with the mutex held, and leaves only as part of `withLock`'s result, which is
    // Sendable. The mutex is allocated separately because Swift may move a stored property.
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// Protects a value.
    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_setprotocol(&attributes, Int32(PTHREAD_PRIO_INHERIT))
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Calls the body with the value, alone.
    package func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let error = pthread_mutex_lock(mutex)
        precondition(error == 0, "a mutex of ours cannot be locked")
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}
