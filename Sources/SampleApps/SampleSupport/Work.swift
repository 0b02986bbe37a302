// SPDX-License-Identifier: Apache-2.0

import CSampleThread
import FoundationEssentials
import Glibc

/// Threads with a CPU affinity and a priority.
package enum Work {
    /// The CPU affinity and the priority of a thread.
    package enum Rank: Sendable {
        /// Those of the thread that starts it.
        case ordinary
        /// The one CPU that is reserved for work without urgency.
        case confined
        /// That CPU, at the lowest priority: nice(2), 19.
        case background
    }

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
            // The Glibc module does not export pthread_setname_np(3), which writes the same file.
            try? Data(name.utf8).write(to: URL(filePath: "/proc/thread-self/comm"))
            // A container may forbid both; the effect is then weaker, but the same.
            if rank != .ordinary { _ = sample_thread_confine() }
            if rank == .background { _ = sample_thread_set_nice(19) }
            body()
        }
    }
}
