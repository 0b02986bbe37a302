// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogLinux

/// Checks whether executing a file raises privileges: execve(2) ignores that if an unprivileged tracer is attached.
enum Privileges {
    /// Whether the process must not be traced when it executes the file.
    static func areRaised(by path: String) -> Bool {
        geteuid() != 0 && areMarked(path)
    }

    /// Whether executing the file gives the process another user or group: execve(2) then takes its perf events away.
    static func areChanged(by path: String) -> Bool {
        var information = stat()
        guard stat(path, &information) == 0 else { return false }
        return information.st_mode & S_ISUID != 0 && information.st_uid != geteuid()
            || information.st_mode & S_ISGID != 0 && information.st_gid != getegid()
    }

    /// Whether the file is set-user-ID or set-group-ID, or has capabilities.
    static func areMarked(_ path: String) -> Bool {
        var information = stat()
        guard stat(path, &information) == 0 else { return false }
        if information.st_mode & (S_ISUID | S_ISGID) != 0 { return true }
        return wd_record_has_capabilities(path)
    }
}
