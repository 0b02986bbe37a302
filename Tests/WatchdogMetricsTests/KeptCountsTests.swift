// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogVerdict

@testable import WatchdogMetrics

@Suite("Counts in a file")
struct KeptCountsTests {
    private func decoded(_ text: String) throws -> KeptCounts {
        try JSONDecoder().decode(KeptCounts.self, from: Data(text.utf8))
    }

    private var everything: AppMeter {
        var meter = AppMeter()
        meter.noticed(.launched(pid: 1))
        meter.launchFailed()
        meter.noticed(.ready(.notify, after: .milliseconds(21)), phases: [.mapping: .milliseconds(10)])
        meter.noticed(.hung(for: .seconds(3)))
        for measurement in [.ping(.seconds(1)), .probe(.milliseconds(7)), .failedProbe] as [Measurement] {
            meter.measured(measurement)
        }
        meter.reloaded(in: .seconds(2))
        meter.reported(.spinning, fault: .appAndMachine)
        meter.ended(
            Outcome(cause: .exited, status: .signaled(signal: 11, coreDumped: false), isDeathVerified: true),
            isCausedByMemory: false)
        meter.run(true, at: Instant(nanoseconds: 0))
        return meter.counted(until: Instant(nanoseconds: 5_000_000_001))
    }

    @Test("A run continues from all counts of the run before")
    func continued() throws {
        let kept = KeptCounts(of: "shop", everything, started: .seconds(7), lastIncident: .seconds(8))
        let read = try JSONDecoder().decode(KeptCounts.self, from: JSONEncoder().encode(kept))
        #expect(read == kept)
        #expect(read.app == "shop" && read.startedUSec == 7_000_000 && read.lastIncidentUSec == 8_000_000)
        var meter = AppMeter()
        meter.add(read)
        #expect(meter == everything)
        meter.add(read)
        #expect(meter.launches == 2 && meter.terminations(.crash) == 2 && meter.pings.sum == .seconds(2))
    }

    @Test("Every count has a name of its own")
    func names() {
        let names = everything.namedCounts.map(\.name) + everything.namedHistograms.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test("The names of a file stay what they are")
    func released() throws {
        let kept = try decoded(
            """
            {"app":"shop","startedUSec":1,"runningNSec":2000000000,
            "counts":{"launches":3,"launch-failures":1,"probe-failures":4,"incidents.scene-update.killed":2,
            "incidents.process-exit.reported":5,"verdicts.blocked":6,"faults.somebody-else":7,"terminations.watchdog":2},
            "durations":{"hang":{"bounds":[500000000,1000000000,2000000000,5000000000,10000000000],
            "buckets":[1,0,2,0,0,3],"sum":44000000000}}}
            """)
        var meter = AppMeter()
        meter.add(kept)
        #expect(meter.launches == 3 && meter.launchFailures == 1 && meter.failedProbes == 4)
        #expect(meter.incidents(.sceneUpdate, isEnforced: true) == 2)
        #expect(meter.incidents(.processExit, isEnforced: false) == 5)
        #expect(meter.verdicts(.blocked) == 6 && meter.faults(.somebodyElse) == 7 && meter.terminations(.watchdog) == 2)
        #expect(meter.hangs.buckets == [1, 0, 2, 0, 0, 3] && meter.hangs.sum == .seconds(44))
        #expect(meter.runningTime == .seconds(2))
    }

    @Test(
        "What cannot be a count, or has other buckets, counts from 0",
        arguments: [
            #""counts":{"launches":-1},"durations":{}"#,
            #""counts":{"launches":9223372036854775807},"durations":{}"#,
            #""counts":{"of another version":9},"durations":{"also":{"bounds":[],"buckets":[1],"sum":1}}"#,
            #""counts":{},"durations":{"hang":{"bounds":[1],"buckets":[1,1],"sum":2}}"#,
            #""counts":{},"durations":{"hang":{"bounds":[500000000,1000000000,2000000000,5000000000,10000000000],"buckets":[1],"sum":2}}"#,
            #""counts":{},"durations":{"hang":{"bounds":[500000000,1000000000,2000000000,5000000000,10000000000],"buckets":[1,1,1,1,1,-1],"sum":2}}"#,
        ])
    func forged(members: String) throws {
        var meter = AppMeter()
        meter.add(try decoded(#"{"app":"shop","startedUSec":1,"runningNSec":-5,\#(members)}"#))
        #expect(meter == AppMeter())
    }

    @Test("The largest count that is believed can be added to itself, and the next one is not believed")
    func largest() throws {
        for (count, believed) in [(KeptCounts.largest, KeptCounts.largest), (KeptCounts.largest + 1, 0)] {
            var meter = AppMeter()
            let kept = try decoded(
                #"{"app":"a","startedUSec":1,"runningNSec":0,"counts":{"launches":\#(count)},"durations":{}}"#)
            for _ in 0..<2 { meter.add(kept) }
            #expect(meter.launches == 2 * believed)
        }
    }
}
