// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogRecording

@Suite("A recording")
struct LaunchModelTests {
    @Test("A launch is warm if nothing was read from a disk")
    func warmth() {
        #expect(LaunchResources(minorFaults: 900).isWarm)
        #expect(!LaunchResources(bytesRead: 4096).isWarm)
        #expect(!LaunchResources(majorFaults: 1).isWarm)
    }

    @Test("Rungs compare by how much they record")
    func rungs() {
        #expect(Rung.allCases == Rung.allCases.sorted())
        #expect(Rung.a < Rung.d)
    }
}
