// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The memory of this process.
public enum ProcessMemory {
    /// Releases the pages of code and constants used so far; most were only needed during startup.
    ///
    /// Pages that are needed again come back from the page cache, at some microseconds per 64 KiB. The process loses
    /// nothing but the breakpoints of a debugger: madvise(2), `MADV_DONTNEED`.
    public static func releaseProgram() { wd_release_program() }

    /// Gives free pages of the heap back to the kernel: malloc_trim(3).
    ///
    /// A process whose many objects are gone would keep their pages, because objects that remain lie between them.
    public static func releaseHeap() { wd_release_heap() }

    /// Keeps every process without `CAP_SYS_PTRACE` from tracing this one or opening its memory: prctl(2),
    /// `PR_SET_DUMPABLE`.
    ///
    /// Changes nothing for an ordinary user, whose processes may trace each other anyway, and whose own files in
    /// `/proc/self` would then belong to root.
    public static func protect() {
        if geteuid() == 0 || geteuid() != getuid() { wd_protect_memory() }
    }
}
