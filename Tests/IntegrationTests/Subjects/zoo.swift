// SPDX-License-Identifier: Apache-2.0

// The Swift runtime's part of the zoo of hangs: prints "ready" and hangs as its first argument selects.

import Dispatch
import Glibc
import Synchronization

private let catalog = DispatchQueue(label: "catalog")
private let index = DispatchQueue(label: "index")
private let settings = Mutex(0)

private func sleepForEver() {
    while true { sleep(1000) }
}

/// Runs `body` on a new thread.
private func onThread(_ body: @escaping @Sendable () -> Void) {
    let context = Unmanaged.passRetained(Box(body)).toOpaque()
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { context in
            if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
            return nil
        }, context)
}

private final class Box: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

// MARK: - Libdispatch

/// Another block runs on the queue, and never returns.
@inline(never)
func loadCatalog() {
    let hasBegun = DispatchSemaphore(value: 0)
    catalog.async {
        hasBegun.signal()
        sleepForEver()
    }
    hasBegun.wait()
    catalog.sync { print("never") }
}

/// Main holds the catalog and wants the index; a thread holds the index and wants the catalog.
@inline(never)
func saveCatalog() {
    let (mainIsIn, threadIsIn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    onThread {
        index.sync {
            threadIsIn.signal()
            mainIsIn.wait()
            catalog.sync { print("never") }
        }
    }
    catalog.sync {
        mainIsIn.signal()
        threadIsIn.wait()
        index.sync { print("never") }
    }
}

@inline(never)
func waitForPicture() {
    DispatchSemaphore(value: 0).wait()
}

@inline(never)
func waitForDownloads() {
    let group = DispatchGroup()
    group.enter()
    group.wait()
}

// MARK: - Locks

/// A thread holds the mutex, and never releases it.
@inline(never)
func readSettings() {
    let isHeld = DispatchSemaphore(value: 0)
    onThread {
        settings.withLock { _ in
            isHeld.signal()
            sleepForEver()
        }
    }
    isHeld.wait()
    settings.withLock { print($0) }
}

// MARK: - Tasks

/// Every thread of the pool waits for a semaphore, which leaves none for the task that would signal main's.
@inline(never)
func renderPages() {
    let never = DispatchSemaphore(value: 0)
    for _ in 0..<(2 * sysconf(Int32(_SC_NPROCESSORS_ONLN))) {
        Task.detached { waitSynchronously(never) }
    }
    usleep(100_000)
    let done = DispatchSemaphore(value: 0)
    Task.detached { done.signal() }
    done.wait()
}

/// Must never be called in a task, and is.
@inline(never)
private func waitSynchronously(_ semaphore: DispatchSemaphore) {
    semaphore.wait()
}

@MainActor @inline(never)
func importLibrary() {
    sleepForEver()
}

@MainActor @inline(never)
func layOutPages() {
    var (a, b): (UInt64, UInt64) = (0, 1)
    while b != 0 || a != 1 { (a, b) = (b, (a &+ b) | 1) }
    print(a)
}

/// The main thread is free: the task hangs.
func signIn() async {
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
}

@main
enum Zoo {
    static func main() async {
        write(STDOUT_FILENO, "ready\n", 6)
        switch CommandLine.arguments.dropFirst().first {
        case "queue_sync": loadCatalog()
        case "queue_deadlock": saveCatalog()
        case "semaphore": waitForPicture()
        case "group": waitForDownloads()
        case "mutex": readSettings()
        case "pool_full": renderPages()
        case "main_actor": importLibrary()
        case "main_actor_busy": layOutPages()
        case "continuation": await signIn()
        default: exit(64)
        }
    }
}
