// SPDX-License-Identifier: Apache-2.0

import CSampleThread
import FoundationEssentials
import Glibc

/// Threads with a place and a rank.
package enum Work {
    /// Which CPUs a thread may use, and its priority.
    package enum Rank: Sendable {
        /// The same as the thread that starts it.
        case ordinary
        /// On the one CPU for work that is not urgent.
        case confined
        /// On that CPU, at the lowest priority: nice(2), 19.
        case background
    }

    /// Starts a thread.
    package static func start(_ name: String, _ rank: Rank = .ordinary, _ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(ThreadBody(name: name, rank: rank, body: body))
        var thread = pthread_t()
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            box.toOpaque()
        )
        precondition(error == 0, "no thread can be started")
        pthread_detach(thread)
    }

    private final class ThreadBody: Sendable {
        let name: String
        let rank: Rank
        let body: @Sendable () -> Void

        init(name: String, rank: Rank, body: @escaping @Sendable () -> Void) {
            (self.name, self.rank, self.body) = (name, rank, body)
        }

        func run() {
            // pthread_setname_np(3) is not visible through the Glibc module; this is what it does.
            try? Data(name.utf8).write(to: URL(filePath: "/proc/thread-self/comm"))
            // Both may be forbidden in a container; the story is then less dramatic, and still true.
            if rank != .ordinary { _ = sample_thread_confine() }
            if rank == .background { _ = sample_thread_set_nice(19) }
            body()
        }
    }
}
