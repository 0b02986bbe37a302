// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A thread of our own with all signals blocked.
enum WorkerThread {
    /// Starts a thread that nobody waits for.
    static func start(_ body: @escaping @Sendable () -> Void) throws(LinuxError) {
        let box = Unmanaged.passRetained(Body(run: body))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // The mask is inherited: blocked here, no signal can reach the thread before it blocks them itself.
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        let error = pthread_create(
            &thread,
            &attributes,
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
    }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
