// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase

@Suite("A daemon on virtual time")
struct DaemonStormTests {
    private static let seeds = 0..<UInt64(StormScale.part(of: 52))
    private static let eventsPerSeed = 20_000

    @Test(
        "Each app has at most one process, each kill has one report, and everything ends, whatever apps and operators do",
        arguments: seeds)
    func storm(seed: UInt64) {
        let daemon = SimulatedDaemon(seed: seed, apps: 8)
        daemon.run(steps: 16_000)
        guard daemon.complaints.isEmpty else {
            let again = SimulatedDaemon(seed: seed, apps: 8, tracing: true)
            again.run(steps: 16_000)
            let words = daemon.complaints[0].split { " :-".contains($0) }
            let trace = again.trace.filter { line in
                line.contains("daemon") || words.contains { $0.hasPrefix("app") && line.contains("\($0)") }
            }
            Issue.record("seed \(seed): \(daemon.complaints[0])\n\(trace.suffix(40).joined(separator: "\n"))")
            return
        }
        #expect(daemon.spawns > 8)
        #expect(daemon.kills > 0)
        #expect(daemon.deaths > 10)
        #expect(daemon.events > Self.eventsPerSeed)
    }

    @Test(
        "The storms have at least a million events",
        .enabled(if: StormScale.isWhole, "WATCHDOGD_STORM_SCALE is less than 5"))
    func count() {
        #expect(Self.seeds.count * Self.eventsPerSeed > 1_000_000)
    }
}
