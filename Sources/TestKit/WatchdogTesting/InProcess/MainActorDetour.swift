// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Synchronization

/// Redirects jobs from Swift's global executor to the main actor, while a test advances a virtual clock.
///
/// A nonisolated function, such as `Clock.sleep(for:)`, runs on another thread. A busy machine can delay it there for
/// an unknown time, and the clock would advance without it. With the detour, it runs in the main actor's own queue.
/// Jobs that other threads start are not redirected.
///
/// Isolation: any thread.
enum MainActorDetour {
    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    private static let users = Atomic(0)
    private static let mark = DispatchSpecificKey<Bool>()

    /// Whether the Swift runtime has the hook: a function pointer that it calls instead of its own function
    /// (`swift_task_enqueueGlobal_hook` in the runtime's Concurrency.h, since Swift 5.5).
    static let isPossible: Bool = {
        guard let symbol = dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
        let hook = symbol.assumingMemoryBound(to: Hook?.self)
        // Another library's hook takes precedence.
        guard hook.pointee == nil else { return false }
        DispatchQueue.main.setSpecific(key: mark, value: true)
        hook.pointee = { job, original in
            if users.load(ordering: .relaxed) > 0, DispatchQueue.getSpecific(key: mark) == true {
                MainActor.shared.enqueue(job)
            } else {
                original(job)
            }
        }
        return true
    }()

    static func begin() { if isPossible { users.wrappingAdd(1, ordering: .relaxed) } }
    static func end() { if isPossible { users.wrappingSubtract(1, ordering: .relaxed) } }
}
