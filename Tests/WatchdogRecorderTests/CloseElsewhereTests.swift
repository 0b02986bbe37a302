// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import TestSupport
import Testing
import WatchdogLinux

@Suite("Descriptors that take long to close", .reapsChildren)
struct CloseElsewhereTests {
    @Test("are closed here at once; the child that closes them last is reaped")
    func child() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        var pid: pid_t = 0
        let pidfd = wd_record_close_elsewhere(ends, ends.count, &pid)
        try #require(pidfd >= 0)
        for end in ends { #expect(fcntl(end, F_GETFD) == -1 || end == pidfd) }
        let child = Pidfd(pid: pid, descriptor: OwnedDescriptor(taking: pidfd))
        child.reapWhenItExits()
        #expect(eventually { !child.isPresent })
    }
}
