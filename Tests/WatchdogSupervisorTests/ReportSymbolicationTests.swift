// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogLaunch

@Suite("Names for a report")
struct ReportSymbolicationTests {
    @Test(
        "Debug files of packages are searched before any server, unless folders are configured",
        arguments: [false, true])
    func directories(usesDebuginfod: Bool) {
        let none = ReportSymbolication(directories: [], usesDebuginfod: usesDebuginfod)
        #expect(none.directories == ["/usr/lib/debug"])
        let named = ReportSymbolication(directories: ["/srv/debug"], usesDebuginfod: usesDebuginfod)
        #expect(named.directories == ["/srv/debug"])
    }
}
