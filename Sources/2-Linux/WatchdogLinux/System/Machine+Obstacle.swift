// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

extension Machine {
    /// Why nothing can be supervised here; nil if it can.
    ///
    /// One sentence without a period that names a system call that the kernel or a container's filter refuses, or what
    /// is missing in `/proc`: without it, an app's processes cannot be found, judged or killed. Call it before this
    /// process has a second thread.
    public static var obstacle: String? {
        if let call = wd_find_refused_call() {
            let error = Errno.current
            return "the kernel or the container's seccomp profile refuses \(String(cString: call))(2): \(error)"
        }
        let other = "/proc belongs to another pid namespace; mount one for this namespace: mount -t proc proc /proc"
        guard let shown = SymbolicLink.target("/proc/self") else {
            let isMounted = access("/proc/version", F_OK) == 0
            return isMounted ? other : "/proc is not mounted; mount it: mount -t proc proc /proc"
        }
        return shown == "\(getpid())" ? nil : other
    }
}
