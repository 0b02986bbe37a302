// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Spawning, in a separate process")
struct SpawnExitTests {
    @Test("ten thousand open descriptors neither slow a launch down nor reach the program")
    func manyDescriptors() async {
        // In a separate process, because other tests need descriptors too.
        await #expect(processExitsWith: .success) {
            let limit = try ResourceLimit.current(.openFiles)
            let count = Int(min(limit.soft, 10_200)) - 200
            let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDONLY)
            let many = try (0..<max(count, 0)).map { _ in try OwnedDescriptor(duplicating: null.number) }
            let result = try run(shell("ls /proc/self/fd | wc -l"))
            #expect(result.output.filter(\.isNumber) == "4")
            withExtendedLifetime(many) {}
        }
    }
}
