// SPDX-License-Identifier: Apache-2.0

import CLinux

/// Whether a program's main thread has nothing to do.
public enum EventWait {
    /// Whether the main thread sleeps in a call that waits for events of any kind, as an event loop does.
    ///
    /// False if the process is gone or may not be read. Reading may wait for the process while it executes a program.
    public static func hasMainThread(of pid: Int32) -> Bool {
        guard let line = Procfs.line("/proc/\(pid)/syscall", limit: 256), let call = BlockedCall(parsing: line) else {
            return false
        }
        return wd_call_waits_for_events(call.number)
    }
}
