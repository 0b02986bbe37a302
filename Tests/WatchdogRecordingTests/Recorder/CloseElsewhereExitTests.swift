// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import TestSupport
import Testing
import WatchdogLinux

@Suite("Descriptors that are slow to close, in a process with no other left")
struct CloseElsewhereExitTests {
    @Test("are still closed last by a child")
    func noDescriptorLeft() async {
        // In a separate process, because the limit applies to all of it.
        await #expect(processExitsWith: .success) {
            let slow = (0..<8).map { _ in dup(0) }
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 256
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            while dup(0) >= 0 {}
            #expect(errno == EMFILE)
            var pid: pid_t = 0
            let pidfd = wd_record_close_elsewhere(slow, slow.count, &pid)
            try #require(pidfd >= 0)
            let child = Pidfd(pid: pid, descriptor: OwnedDescriptor(taking: pidfd))
            child.reapWhenItExits()
            #expect(eventually { !child.isPresent })
        }
    }
}
