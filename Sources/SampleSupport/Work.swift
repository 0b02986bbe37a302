// SPDX-License-Identifier: Apache-2.0

import CSampleThread
import FoundationEssentials
import Glibc

/// Threads with a place and a rank.
package enum Work {
    /// Starts a thread.
    ///
    /// - Parameter confinedNice: When given, the thread is kept on the one CPU for work that is not urgent, and has this nice
    ///   value: 19 for work that nobody waits for, 0 for ordinary work.
    package static func start(_ name: String, confinedNice: Int32? = nil, _ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(ThreadBody(name: name, nice: confinedNice, body: body))
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

    /// Keeps the calling thread's CPU busy, as a computation would, for an amount of its own CPU time.
    package static func compute(for duration: Duration) {
        let end = ProcessClock.threadTime + duration
        var raster = Raster.photo(1, side: 24)
        while ProcessClock.threadTime < end { raster = raster.blurred() }
    }

    private final class ThreadBody: Sendable {
        let name: String
        let nice: Int32?
        let body: @Sendable () -> Void

        init(name: String, nice: Int32?, body: @escaping @Sendable () -> Void) {
            (self.name, self.nice, self.body) = (name, nice, body)
        }

        func run() {
            // pthread_setname_np(3) is not visible through the Glibc module; this is what it does.
            try? Data(name.utf8).write(to: URL(filePath: "/proc/thread-self/comm"))
            guard let nice else { return body() }
            // Both may be forbidden in a container; the story is then less dramatic, and still true.
            _ = sample_thread_confine()
            _ = sample_thread_set_nice(nice)
            body()
        }
    }
}
