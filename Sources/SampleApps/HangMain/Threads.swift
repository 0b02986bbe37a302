// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Starts a thread with a name, which `top -H` and reports show.
func startThread(named name: String, _ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(ThreadBody(name: name, body: body))
    var thread = pthread_t()
    let error = pthread_create(
        &thread,
        nil,
        { argument in
            guard let argument else { return nil }
            let thread = Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue()
            thread.takeName()
            thread.body()
            return nil
        },
        box.toOpaque()
    )
    guard error == 0 else {
        errno = error
        giveUp("cannot start thread \(name)")
    }
}

private final class ThreadBody: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    /// The Glibc module does not export pthread_setname_np(3), which writes the same file.
    func takeName() {
        let comm = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard comm >= 0 else { return }
        write(comm, name, name.utf8.count)
        close(comm)
    }
}

/// Blocks the calling thread forever.
func sleepForever() {
    while true { sleep(3600) }
}
