// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A value that only one thread at a time can access.
///
/// Synchronization's `Mutex` would do, but adds libswiftSynchronization.so to what every app has to load.
final class Locked<Value: Sendable>: @unchecked Sendable {
    // SAFETY: `value` is touched only while `mutex` is held; the mutex has its own allocation because it must not move.
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
