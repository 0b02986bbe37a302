// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A child process that computes without a pause until it is released, or this process or its calling thread ends.
///
/// Isolation: the main thread of a process that reaps its children: ``Subreaper``.
public final class Spinner {
    private let process: Pidfd

    /// Starts the process.
    public init() throws(LinuxError) {
        let child = try check("start a process that computes") { wd_fork_spinner() }
        do throws(LinuxError) {
            process = try Pidfd(opening: child)
        } catch {
            // Nobody has reaped it: this thread would.
            kill(child, SIGKILL)
            throw error
        }
    }

    deinit { try? process.send(SIGKILL) }
}
