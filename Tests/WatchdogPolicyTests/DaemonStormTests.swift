// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogPolicy

@Suite("A daemon on virtual time")
struct DaemonStormTests {
    @Test(
        "Whatever apps, operators, reloads and its own death do: one process each, one report a kill, all end in the end",
        arguments: 0..<40 as Range<UInt64>)
    func storm(seed: UInt64) throws {
        let daemon = SimulatedDaemon(seed: seed, apps: 8)
        try daemon.run(steps: 3_000)
        #expect(daemon.complaints == [], "seed \(seed)")
        #expect(daemon.launches > 8)
        #expect(daemon.kills > 0)
        #expect(daemon.daemonDeaths > 10)
    }
}
