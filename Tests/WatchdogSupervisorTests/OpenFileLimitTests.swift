// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("Free descriptors for a launch")
struct OpenFileLimitTests {
    @Test("A high descriptor number left over from earlier does not reduce the room")
    func high() throws {
        let limit = min(Int32(clamping: try ResourceLimit.current(.openFiles).soft), 4_096)
        // The first number that the check tries, unless another test has it open: that one must not be closed.
        let held = OwnedDescriptor(taking: fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, limit - 48))
        try #require((limit - 48..<limit).contains(held.number))
        #expect(OpenFileLimit.hasRoom(below: limit))
        withExtendedLifetime(held) {}
    }

    @Test("A limit below the descriptors of one launch leaves no room")
    func full() {
        #expect(!OpenFileLimit.hasRoom(below: 48))
    }
}
