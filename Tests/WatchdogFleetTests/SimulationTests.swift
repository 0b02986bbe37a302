// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import WatchdogFleet

@Suite("Marks on simulated fleets")
struct SimulationTests {
    /// The number of fleets with a mark in `runs`, and with a mark on the changed signature.
    private static func marks(_ fleet: Fleet, runs: Int, seed: UInt64) -> (any: Int, changed: Int) {
        var random = SeededGenerator(seed: seed)
        var counts = (any: 0, changed: 0)
        for _ in 0..<runs {
            let table = table(fleet.incidents(&random))
            let marked = table.apps[0].signatures.filter { $0.increase != nil }
            if !marked.isEmpty { counts.any += 1 }
            if marked.contains(where: { $0.id == "s\(fleet.signatures - 1)" }) { counts.changed += 1 }
        }
        return counts
    }

    @Test("If nothing changes, at most one table in a hundred has a mark")
    func falseAlarms() {
        #expect(Self.marks(Fleet(), runs: 300, seed: 1).any <= 3)
        #expect(Self.marks(Fleet(hosts: 4, rate: 0.5), runs: 100, seed: 2).any <= 1)
    }

    @Test("Incidents that repeat within minutes cause no more false alarms")
    func bursts() {
        #expect(Self.marks(Fleet(hosts: 6, burst: 20), runs: 150, seed: 3).any <= 2)
    }

    @Test("A signature four times as frequent is detected; one with the same frequency is not")
    func detection() {
        let counts = Self.marks(Fleet(rate: 0.1, factor: 4), runs: 60, seed: 4)
        #expect(counts.changed >= 54)
        #expect(Self.marks(Fleet(rate: 0.1), runs: 60, seed: 4).changed <= 1)
    }
}
