// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A thread of our own with all signals blocked.
public struct WorkerThread: Sendable {
    private let thread: pthread_t

    /// Starts a thread that runs `body`; it has to be joined or detached.
    public static func start(_ body: @escaping @Sendable () -> Void) throws(LinuxError) -> WorkerThread {
        let box = Unmanaged.passRetained(Body(run: body))
        var thread = pthread_t()
        // The mask is inherited: blocked here, no signal can reach the thread before it blocks them itself.
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        let error = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            box.toOpaque()
        )
        pthread_sigmask(SIG_SETMASK, &previous, nil)
        guard error == 0 else {
            box.release()
            throw LinuxError("start a thread", Errno(rawValue: error))
        }
        return WorkerThread(thread: thread)
    }

    /// Waits for its end.
    public func join() {
        pthread_join(thread, nil)
    }

    /// Lets it end by itself.
    public func detach() {
        pthread_detach(thread)
    }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
