// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogTesting

/// The main thread of the runner is shared by all tests: only what these do to it is expected of it.
@Suite("Stalls of the main loop", .serialized)
struct StallTests {
    @Test("A test that blocks the main actor is told with the stack that blocks it")
    func stall() async throws {
        let monitor = MainLoopMonitor(limit: .seconds(1))
        await block(for: 3)
        let stalls = await monitor.finish()
        let stall = try #require(stalls.first { $0.stack.contains("blockingForTheTest") }, "\(stalls)")
        #expect(stall.duration > .seconds(1))
        #expect(stall.sample?.contains("Call tree") == true)
    }

    @Test("A stall below the limit is none", .mainLoopStall(limit: .seconds(600)))
    func noStall() async {
        await block(for: 0)
    }

    @MainActor private func block(for seconds: UInt32) { blockingForTheTest(seconds) }
}

@inline(never)
private func blockingForTheTest(_ seconds: UInt32) {
    usleep(seconds * 1_000_000)
}
