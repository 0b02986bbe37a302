// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReportFixtures
import Testing
import WatchdogReport

@testable import WatchdogRendering

@Suite("The line of an incident")
struct IncidentLineTests {
    @Test("a line has flat members, one newline at its end, and the host of its place")
    func line() throws {
        let text = IncidentLine(of: Samples.report(), host: "alpha").text
        #expect(text.hasSuffix("}\n") && text.count(where: { $0 == "\n" }) == 1)
        let members = try JSONDecoder().decode([String: JSONTree].self, from: Data(text.utf8))
        #expect(members["time"] == .text("2026-11-21T00:20:22.12Z"))
        #expect(members["host"] == .text("alpha"))
        #expect(members["app"] == .text("HangMain"))
        #expect(members["event"] == .text("scene-update"))
        #expect(members["code"] == .text("0x8badf00d"))
        #expect(members["verdict"] == .text("blocked"))
        #expect(members["signature"] == .text(Signature(of: Samples.report()).id))
        #expect(members["incident"] == .text(Samples.report().metadata.incidentID))
        #expect(members["duration_usec"] == .integer(10_050_000))
        #expect(members["version"] == .text("a1b2c3d4"), "of the build ID, because it has no other")
        for (name, value) in members where name != "frames" {
            if case .object = value { Issue.record("\(name) is not flat") }
        }
        #expect(IncidentLine(of: Samples.report(), host: nil).host == Samples.host.hostName)
    }

    @Test("every cause has a line")
    func causes() throws {
        for cause in Causes.all {
            let text = IncidentLine(of: cause.report, host: nil).text
            let members = try JSONDecoder().decode([String: JSONTree].self, from: Data(text.utf8))
            #expect(members["signature"] != nil && members["summary"] != nil, "\(cause.name)")
        }
    }
}
