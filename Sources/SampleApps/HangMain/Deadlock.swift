// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Two locks without a lock order: the two threads take them in opposite orders.
private final class Locks: @unchecked Sendable {
    // SAFETY: mutexes are thread-safe, and these have stable addresses.
    let settings = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    let index = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(settings, nil)
        pthread_mutex_init(index, nil)
    }
}

@inline(never)
func saveSettings() {
    let entries = updateIndex()
    print("HangMain: \(entries) entries")
}

@inline(never)
func updateIndex() -> Int {
    let locks = Locks()
    let (mainHasSettings, indexerHasIndex) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    startThread(named: "indexer") {
        pthread_mutex_lock(locks.index)
        indexerHasIndex.signal()
        mainHasSettings.wait()
        rebuildIndex(locks)
    }
    pthread_mutex_lock(locks.settings)
    mainHasSettings.signal()
    indexerHasIndex.wait()
    let entries = lockIndex(locks)
    pthread_mutex_unlock(locks.settings)
    return entries
}

/// Runs on main, which holds the settings.
@inline(never)
private func lockIndex(_ locks: Locks) -> Int {
    pthread_mutex_lock(locks.index)
    pthread_mutex_unlock(locks.index)
    return 2
}

/// Runs on the indexer, which holds the index.
@inline(never)
private func rebuildIndex(_ locks: Locks) {
    pthread_mutex_lock(locks.settings)
    pthread_mutex_unlock(locks.settings)
    pthread_mutex_unlock(locks.index)
}
