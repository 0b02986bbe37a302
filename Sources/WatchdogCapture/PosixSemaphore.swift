// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// A counting semaphore: sem_overview(7).
// SAFETY: the memory never moves, and POSIX semaphores are made for use by many threads.
final class PosixSemaphore: @unchecked Sendable {
    private let memory: UnsafeMutablePointer<sem_t>

    init() throws(SnapshotError) {
        memory = .allocate(capacity: 1)
        memory.initialize(to: sem_t())
        guard sem_init(memory, 0, 0) == 0 else {
            memory.deallocate()
            throw SnapshotError("create a semaphore", of: nil, Errno(rawValue: errno))
        }
    }

    deinit {
        sem_destroy(memory)
        memory.deallocate()
    }

    func signal() {
        sem_post(memory)
    }

    func wait() {
        while sem_wait(memory) != 0 && errno == EINTR {}
    }
}
