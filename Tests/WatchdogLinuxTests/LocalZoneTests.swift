// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogLinux

@Suite("The process's time zone")
struct CurrentZoneTests {
    @Test("It is the zone of the clock; a time beyond the calendar is shown in UTC")
    func current() {
        let now = WallTime.now()
        #expect(LocalZone.current(at: now.seconds).utcOffset == now.utcOffset)
        for extreme in [Int64.min, .max] { #expect(LocalZone.current(at: extreme) == .utc) }
    }
}
