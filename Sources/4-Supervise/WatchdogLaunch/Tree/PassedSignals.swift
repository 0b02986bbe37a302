// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The signals that `watchdogd run` handles on behalf of its program: all signals that can be handled, except those
/// that watchdogd itself needs.
package enum PassedSignals {
    /// Job-control signals; with the default action, the kernel ignores them in an orphaned process group.
    static let stops: Set<Int32> = [SIGTSTP, SIGTTIN, SIGTTOU]

    /// Signals that cannot be blocked, that the kernel sends to watchdogd about its own children, output and files, and
    /// those for its own program errors.
    private static let own: Set<Int32> = [
        SIGKILL, SIGSTOP, SIGCHLD, SIGPIPE, SIGXFSZ, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS,
    ]

    /// The signals to handle.
    ///
    /// - Parameter readsKeys: whether watchdogd reads from the terminal: with SIGTTIN blocked, a read in the background
    ///   fails with EIO instead of stopping the job.
    package static func all(readsKeys: Bool) -> [Int32] {
        let standard = (1...SIGSYS).filter { !own.contains($0) && !(readsKeys && $0 == SIGTTIN) }
        // glibc keeps the first real-time signals for itself: signal(7).
        return standard + Array(__libc_current_sigrtmin()...__libc_current_sigrtmax())
    }
}
