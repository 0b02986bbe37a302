// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogLinux

/// Whether a file raises the privileges of who executes it: execve(2) drops them under a tracer without rights.
enum Privileges {
    /// Whether the process must not be traced when it executes the file.
    static func areRaised(by path: String) -> Bool {
        guard geteuid() != 0 else { return false }
        var information = stat()
        guard stat(path, &information) == 0 else { return false }
        if information.st_mode & (S_ISUID | S_ISGID) != 0 { return true }
        return wd_record_has_capabilities(path)
    }
}
