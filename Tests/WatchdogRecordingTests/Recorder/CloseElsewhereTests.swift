// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import TestSupport
import Testing
import WatchdogLinux

@Suite("Descriptors that are slow to close", .reapsChildren)
struct CloseElsewhereTests {
    @Test("are closed here immediately; the child that closes them last is reaped")
    func child() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let file = inode(of: ends[0])
        try #require(file != nil)
        var pid: pid_t = 0
        let pidfd = wd_record_close_elsewhere(ends, ends.count, &pid)
        try #require(pidfd >= 0)
        // By now, another test may have the same numbers.
        for end in ends { #expect(inode(of: end) != file) }
        let child = Pidfd(pid: pid, descriptor: OwnedDescriptor(taking: pidfd))
        child.reapWhenItExits()
        #expect(eventually { !child.isPresent })
    }

    /// The inode of a descriptor's pipe; nil for any other file, and for none.
    private func inode(of descriptor: Int32) -> ino_t? {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO ? status.st_ino : nil
    }
}
