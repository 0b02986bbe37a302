// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogLinux

@testable import WatchdogSupervisor

@Suite("Room for the descriptors of a launch")
struct OpenFileLimitTests {
    @Test("A high descriptor from busier times takes no room from others")
    func high() throws {
        let limit = min(Int32(clamping: try ResourceLimit.current(.openFiles).soft), 4_096)
        // The first number that is tried, unless another test has it: what that one has open must not be closed.
        let held = OwnedDescriptor(taking: fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, limit - 48))
        try #require((limit - 48..<limit).contains(held.number))
        #expect(OpenFileLimit.hasRoom(below: limit))
        withExtendedLifetime(held) {}
    }

    @Test("Fewer descriptors than a launch takes are no room")
    func full() {
        #expect(!OpenFileLimit.hasRoom(below: 48))
    }
}
