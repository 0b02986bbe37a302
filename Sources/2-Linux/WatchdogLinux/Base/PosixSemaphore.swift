// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogBase

/// A counting semaphore: sem_overview(7).
///
/// Isolation: may be used from any thread.
public final class PosixSemaphore: @unchecked Sendable {
    // SAFETY: the memory never moves, and POSIX semaphores are designed for use by several threads.
    private let memory: UnsafeMutablePointer<sem_t>

    /// Creates a semaphore with the value 0.
    public init() {
        memory = .allocate(capacity: 1)
        memory.initialize(to: sem_t())
        // Fails only for too large a value or a semaphore shared between processes: sem_init(3).
        sem_init(memory, 0, 0)
    }

    deinit {
        sem_destroy(memory)
        memory.deallocate()
    }

    /// Increments the value.
    public func signal() {
        sem_post(memory)
    }

    /// Waits until the value is positive, then decrements it.
    public func wait() {
        while sem_wait(memory) != 0 && errno == EINTR {}
    }

    /// Waits as ``wait()`` does, but not beyond `deadline`.
    ///
    /// - Returns: false if the value was not positive in time.
    public func wait(until deadline: Instant) -> Bool { wd_semaphore_wait(memory, deadline.nanoseconds) == 0 }
}
