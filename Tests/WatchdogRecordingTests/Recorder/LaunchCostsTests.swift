// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogRecording

@testable import WatchdogRecording

@Suite("The cost of a launch")
struct LaunchCostsTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("is the first known one that is not earlier than its end")
    func moments() {
        var costs = LaunchCosts()
        #expect(costs.moment(at: at(0))?.time == nil)
        for (time, faults) in [(40, 2), (10, 1), (70, 3)] as [(Int64, Int)] {
            costs.keep(LaunchCosts.Moment(time: at(time), resources: LaunchResources(minorFaults: faults)))
        }
        #expect(costs.moment(at: at(10))?.resources.minorFaults == 1)
        #expect(costs.moment(at: at(11))?.resources.minorFaults == 2)
        #expect(costs.moment(at: at(70))?.resources.minorFaults == 3)
        #expect(costs.moment(at: at(71))?.time == nil)
    }

    @Test("is exact, not counted in clock ticks")
    func exactTime() throws {
        let before = try #require(ProcessCPU.time(getpid()))
        let resources = ProcessFiles.resources(of: getpid())
        #expect(resources.user + resources.system >= before)
        #expect(resources.user >= .zero && resources.system >= .zero)
    }
}
