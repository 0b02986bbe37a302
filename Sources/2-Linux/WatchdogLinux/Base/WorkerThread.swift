// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogBase

/// A thread that blocks all signals.
public struct WorkerThread: Sendable {
    private let thread: pthread_t

    /// Starts a thread that runs `body`; it must be joined or detached.
    public static func start(_ body: @escaping @Sendable () -> Void) throws(LinuxError) -> WorkerThread {
        let box = Unmanaged.passRetained(Body(run: body))
        var thread = pthread_t()
        // Threads inherit the mask: blocking the signals here leaves no moment in which the new thread could receive
        // one.
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

    /// Waits for the thread to end.
    public func join() {
        pthread_join(thread, nil)
    }

    /// Waits for the thread to end, but not beyond `deadline`; after that, the thread is detached.
    ///
    /// - Returns: false when the thread did not end in time.
    public func join(until deadline: Instant) -> Bool {
        if wd_thread_join(thread, deadline.nanoseconds) == 0 { return true }
        detach()
        return false
    }

    /// Detaches the thread.
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
