// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogSupervisor

@Suite("Names for a report")
struct ReportSymbolicationTests {
    @Test(
        "Packages' debug files are looked at unless folders are named, and before any server", arguments: [false, true])
    func directories(usesDebuginfod: Bool) {
        let none = ReportSymbolication(directories: [], usesDebuginfod: usesDebuginfod)
        #expect(none.directories == ["/usr/lib/debug"])
        let named = ReportSymbolication(directories: ["/srv/debug"], usesDebuginfod: usesDebuginfod)
        #expect(named.directories == ["/srv/debug"])
    }
}
