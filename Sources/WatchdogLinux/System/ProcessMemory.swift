// SPDX-License-Identifier: Apache-2.0

import CLinux

/// The memory of this process.
public enum ProcessMemory {
    /// Gives back the pages of the code that has run so far, and of its constants: most of it was for the start, and is
    /// not needed again.
    ///
    /// What is needed comes back from the page cache as it runs, some microseconds for each 64 KiB. Nothing of the process
    /// is lost but the breakpoints of a debugger: madvise(2), `MADV_DONTNEED`.
    public static func releaseProgram() { wd_release_program() }
}
